"""How weights start. Each scheme says what it does to convolutions and linear layers, to memories, and to the heads."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from hogwild.policies.actor import ActorHead
from hogwild.policies.memory import Memory, NoMemory


def normalised_columns(weight: Tensor, norm: float) -> None:
    """Gaussian rows of fixed length: each output starts with the same scale, whatever the number of inputs.

    >>> weight = torch.empty(3, 50)
    >>> normalised_columns(weight, 0.5)
    >>> [round(length, 4) for length in weight.norm(dim=1).tolist()]
    [0.5, 0.5, 0.5]
    """
    with torch.no_grad():
        weight.normal_()
        weight.mul_(norm / weight.norm(dim=1, keepdim=True))


def initialise(parts: Sequence[nn.Module], memory: Memory, actor: ActorHead, critic: nn.Linear, scheme: str) -> None:
    """Set all weights of a policy by a named scheme; biases are zero unless the scheme says otherwise."""
    layers = [m for part in parts for m in part.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    for layer in layers:
        _LAYERS[scheme](layer.weight)
        nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
    _initialise_memory(memory, scheme)
    for head, gain in ((actor, 0.01), (critic, 1.0)):
        _initialise_head(head, gain, scheme)
        nn.init.zeros_(head.bias)
    if scheme == "kaiming" and not actor.numbers:  # of numbers it would be a preference
        nn.init.ones_(actor.bias)


def _orthogonal(weight: Tensor) -> None:
    nn.init.orthogonal_(weight, math.sqrt(2))


def _torch_default_with_relu_gain(weight: Tensor) -> None:
    nn.init.kaiming_uniform_(weight, a=math.sqrt(5))
    with torch.no_grad():
        weight.mul_(math.sqrt(2))


def _kaiming_convolutions_xavier_linear(weight: Tensor) -> None:
    if weight.dim() == 4:
        nn.init.kaiming_uniform_(weight)
    else:
        nn.init.xavier_normal_(weight)


def _small_normal(weight: Tensor) -> None:
    nn.init.trunc_normal_(weight, std=0.02, a=-0.04, b=0.04)


_LAYERS: dict[str, Callable[[Tensor], object]] = {
    "orthogonal": _orthogonal,
    "glorot": nn.init.xavier_uniform_,
    "columns": nn.init.xavier_uniform_,
    "a3g": _torch_default_with_relu_gain,
    "kaiming": _kaiming_convolutions_xavier_linear,
    "normal": _small_normal,
}


def _initialise_memory(memory: Memory, scheme: str) -> None:
    if isinstance(memory, NoMemory):
        return
    nn.init.xavier_uniform_(memory.input_weight)
    if scheme in ("orthogonal", "a3g"):
        nn.init.orthogonal_(memory.recurrent_weight)
    else:
        nn.init.xavier_uniform_(memory.recurrent_weight)
    memory.reset_bias()


def _initialise_head(head: nn.Linear, gain: float, scheme: str) -> None:
    if scheme in ("columns", "a3g"):
        normalised_columns(head.weight, gain)
    elif scheme == "orthogonal":
        nn.init.orthogonal_(head.weight, gain)
    else:
        _LAYERS[scheme](head.weight)
