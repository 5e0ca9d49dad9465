"""Networks that turn one observation into features: the convolutions of the A3C literature, a plain MLP, and both
together for observations of several parts.

Image encoders take pictures as they come from the environment (uint8 or float, [B, C, H, W]); the first convolution
scales them, see `ScaledConv2d`.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hogwild.errors import UsageError
from hogwild.own import is_own, load_own
from hogwild.policies.normalisers import PictureNormaliser, ScaledConv2d, VectorNormaliser
from hogwild.policies.spec import LAST_LAYER, ObservationPart

CHUNK = 128  # pictures; more of them fall out of the processor's cache


class Convolutions(nn.Module):
    """Convolutions, each followed by an optional 2×2 max-pool and an activation, then an optional linear layer."""

    def __init__(
        self,
        shape: Sequence[int],
        layers: Sequence[tuple[int, int, int, int]],
        *,
        scale: float,
        activation: type[nn.Module] = nn.ReLU,
        pool: bool = False,
        features: int = 0,
        layer_norm: bool = False,
    ) -> None:
        """`layers` are (filters, kernel, stride, padding); `features` is the width of the linear layer, 0 for none."""
        super().__init__()
        self.image_shape = tuple(shape)
        self.activation = activation()
        self.pool = pool
        channels = shape[0]
        modules: list[nn.Module] = []
        for index, (filters, kernel, stride, padding) in enumerate(layers):
            if index == 0:
                modules.append(ScaledConv2d(shape, scale, filters, kernel, stride, padding))
            else:
                modules.append(nn.Conv2d(channels, filters, kernel, stride, padding))
            channels = filters
        self.convolutions = nn.ModuleList(modules)
        with torch.no_grad():
            flat = self._convolve(torch.zeros(1, *shape)).shape[1]
        self.linear = nn.Linear(flat, features) if features else None
        self.outputs = features or flat
        self.norm = nn.LayerNorm(self.outputs) if layer_norm else nn.Identity()

    def _convolve(self, images: Tensor) -> Tensor:
        for convolution in self.convolutions:
            images = convolution(images)
            if self.pool:
                images = F.max_pool2d(images, 2)
            images = self.activation(images)
        return images.flatten(1)

    def forward(self, images: Tensor) -> Tensor:
        """Features [B, outputs] of pictures [B, C, H, W]."""
        # Who writes the graph down wants it to be the same for any number of pictures.
        is_written_down = torch.jit.is_tracing() or torch.compiler.is_exporting()  # type: ignore[attr-defined,no-untyped-call]
        chunks = [images] if is_written_down else images.split(CHUNK)
        features = torch.cat([self._convolve(chunk) for chunk in chunks])
        if self.linear is None:
            return self.norm(features)  # type: ignore[no-any-return]
        return self.activation(self.norm(self.linear(features)))  # type: ignore[no-any-return]

    @property
    def first(self) -> ScaledConv2d:
        """The layer that holds the mean picture."""
        layer = self.convolutions[0]
        assert isinstance(layer, ScaledConv2d)
        return layer


class MLP(nn.Module):
    """Tanh layers over the flattened observation, normalised first if it is to be.

    With `towers` there are two networks, which share nothing but the normaliser; features of the second follow those
    of the first.
    """

    def __init__(
        self,
        shape: Sequence[int],
        widths: Sequence[int],
        layer_norm: bool = False,
        normalise: bool = False,
        towers: bool = False,
    ) -> None:
        super().__init__()
        inputs = math.prod(shape)
        self.normaliser = VectorNormaliser(inputs) if normalise else nn.Identity()
        self.layers = _tanh_layers(inputs, widths, layer_norm)
        self.second = _tanh_layers(inputs, widths, layer_norm) if towers else None
        self.outputs = widths[-1] * (1 + towers)

    def forward(self, observations: Tensor) -> Tensor:
        """Features [B, outputs] of observations [B, …]."""
        seen = self.normaliser(observations.flatten(1).float())
        features: Tensor = self.layers(seen)
        return features if self.second is None else torch.cat([features, self.second(seen)], dim=1)


def _tanh_layers(inputs: int, widths: Sequence[int], layer_norm: bool) -> nn.Sequential:
    modules: list[nn.Module] = []
    for width in widths:
        modules += [nn.Linear(inputs, width), *([nn.LayerNorm(width)] if layer_norm else []), nn.Tanh()]
        inputs = width
    return nn.Sequential(*modules)


class Joined(nn.Module):
    """Several encoders, each of which reads its part of a flat observation, and a layer over all their features.

    All vectors of an observation are read together by one MLP, after the pictures.
    """

    def __init__(
        self,
        parts: Sequence[ObservationPart],
        kind: str,
        last: int,
        layer_norm: bool,
        normalise: bool,
        towers: bool = False,
    ) -> None:
        """With `towers`, which only vectors have, an mlp is two networks."""
        super().__init__()
        self.shapes = [part.shape for part in parts]
        self.sizes = [part.size for part in parts]
        pictures = [part for part in parts if part.is_image]
        self.pictures = nn.ModuleList(
            make_encoder(kind, part.shape, last=last, scale=part.scale, layer_norm=layer_norm) for part in pictures
        )
        numbers = sum(part.size for part in parts if not part.is_image)
        width = LAST_LAYER["mlp"] if pictures or not last else last
        reads_vectors = kind if is_own(kind) and not pictures else "mlp"
        self.vector = (
            make_encoder(
                reads_vectors, (numbers,), last=width, layer_norm=layer_norm, normalise=normalise, towers=towers
            )
            if numbers
            else None
        )
        found = sum(encoder.outputs for encoder in (*self.pictures, self.vector) if encoder is not None)
        # What follows from two parts together is not the sum of what follows from each.
        several = len(self.pictures) + (self.vector is not None) > 1
        self.outputs = (last or LAST_LAYER["a3c"]) if several else found
        self.together = nn.Linear(found, self.outputs) if several else None

    def forward(self, observations: Tensor) -> Tensor:
        """Features [B, outputs] of flat observations [B, …]; what lies behind the parts, a mask, is not read."""
        parts = observations[:, : sum(self.sizes)].split(self.sizes, dim=1)
        pictures = [part.reshape(-1, *s) for part, s in zip(parts, self.shapes, strict=True) if len(s) == 3]
        vectors = [part.float() for part, s in zip(parts, self.shapes, strict=True) if len(s) != 3]
        features = [encoder(part) for encoder, part in zip(self.pictures, pictures, strict=True)]
        if self.vector is not None:
            features.append(self.vector(torch.cat(vectors, dim=1)))
        if self.together is None:
            return features[0]  # type: ignore[no-any-return]
        return self.together(torch.cat(features, dim=1)).relu()  # type: ignore[no-any-return]


class Own(nn.Module):
    """An encoder of your own behind a normaliser of ours. It is made with the shape of an observation, turns a batch
    [B, *shape] of decimals into features [B, outputs], and says how many in `outputs`."""

    def __init__(self, name: str, shape: Sequence[int], scale: float, normalise: bool) -> None:
        super().__init__()
        self.normaliser: nn.Module = nn.Identity()
        if len(shape) == 3:
            self.normaliser = PictureNormaliser(shape, scale)
        elif normalise:
            self.normaliser = VectorNormaliser(math.prod(shape))
        kind = load_own(name, "--encoder")
        try:
            self.encoder = kind(tuple(shape))
            self.outputs = int(self.encoder.outputs)
            with torch.no_grad():
                answered = tuple(self.encoder(torch.zeros(2, *shape)).shape)
        except (TypeError, AttributeError, RuntimeError, ValueError, IndexError) as error:
            words = "an encoder is made with a shape, and says in `outputs` how many features it answers"
            raise UsageError(f"--encoder {name}: {error}; {words}.") from error
        if answered != (2, self.outputs):
            words = f"answers {answered} to two observations of shape {tuple(shape)}, not (2, {self.outputs})"
            raise UsageError(f"--encoder {name}: it {words}, as its `outputs` says.")

    def forward(self, observations: Tensor) -> Tensor:
        """Features [B, outputs]."""
        return self.encoder(self.normaliser(observations.float()))  # type: ignore[no-any-return]


Encoder = Convolutions | MLP | Own | Joined


def make_encoder(
    kind: str,
    shape: Sequence[int],
    *,
    last: int,
    scale: float = 255.0,
    layer_norm: bool = False,
    normalise: bool = False,
    towers: bool = False,
) -> Convolutions | MLP | Own:
    """Encoder by its name in the settings; `last` is the width of its last layer, 0 leaves that layer out. With
    `towers` an mlp is two networks.

    >>> make_encoder("a3c", (4, 84, 84), last=256).outputs
    256
    """
    if is_own(kind):
        return Own(kind, shape, scale, normalise)
    if kind == "mlp":
        return MLP(shape, [last, last] if last else [64], layer_norm, normalise, towers)
    layers, shaped = _CONVOLUTIONS[kind]
    return Convolutions(shape, layers, scale=scale, features=last, layer_norm=layer_norm, **shaped)


_CONVOLUTIONS: dict[str, tuple[list[tuple[int, int, int, int]], dict[str, Any]]] = {
    # Mnih et al. 2016, the feed-forward agent
    "a3c": ([(16, 8, 4, 0), (32, 4, 2, 0)], {}),
    # large strides: as many filters at less than half of the cost
    "compact": ([(16, 7, 5, 0), (32, 3, 2, 0)], {}),
    # Mnih et al. 2015
    "nature": ([(32, 8, 4, 0), (64, 4, 2, 0), (64, 3, 1, 0)], {}),
    # the starter agent's: 42×42 in, 288 features out
    "universe": ([(32, 3, 2, 1)] * 4, {"activation": nn.ELU}),
    # stride 1 and max-pooling: 80×80 in, 1024 features out
    "a3g": ([(32, 5, 1, 2), (32, 5, 1, 1), (64, 4, 1, 1), (64, 3, 1, 1)], {"pool": True}),
}
