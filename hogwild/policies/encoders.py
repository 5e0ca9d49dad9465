"""Networks that turn one observation into features: the convolutions of the A3C literature, and a plain MLP.

Image encoders take pictures as they come from the environment (uint8 or float, [B, C, H, W]); the first convolution
scales them, see `ScaledConv2d`.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hogwild.policies.image_normaliser import ScaledConv2d

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
        features = torch.cat([self._convolve(chunk) for chunk in images.split(CHUNK)])
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
    """Tanh layers over the flattened observation."""

    def __init__(self, shape: Sequence[int], widths: Sequence[int], layer_norm: bool = False) -> None:
        super().__init__()
        inputs = math.prod(shape)
        modules: list[nn.Module] = []
        for width in widths:
            modules += [nn.Linear(inputs, width), *([nn.LayerNorm(width)] if layer_norm else []), nn.Tanh()]
            inputs = width
        self.layers = nn.Sequential(*modules)
        self.outputs = inputs

    def forward(self, observations: Tensor) -> Tensor:
        """Features [B, outputs] of observations [B, …]."""
        return self.layers(observations.flatten(1).float())  # type: ignore[no-any-return]


Encoder = Convolutions | MLP


def make_encoder(
    kind: str, shape: Sequence[int], *, last: int, scale: float = 255.0, layer_norm: bool = False
) -> Encoder:
    """Encoder by its name in the settings; `last` is the width of its last layer, 0 leaves that layer out.

    >>> make_encoder("a3c", (4, 84, 84), last=256).outputs
    256
    """
    if kind == "mlp":
        return MLP(shape, [last, last] if last else [64], layer_norm)
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
