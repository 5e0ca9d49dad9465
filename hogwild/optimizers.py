"""Update rules over one flat vector of weights, with statistics that may lie in shared memory.

torch's own optimizers do the arithmetic. What is added here: the statistics are given from outside, so that workers
can share them, and what counts updates (the bias correction of Adam, NAdam's product of momenta) is derived from one
exact count instead of being incremented by every worker, which would lose increments.
"""

from typing import Any, Protocol

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.nadam import nadam
from torch.optim.rmsprop import rmsprop

from hogwild.config.settings import OptimizerSettings

STATISTICS = {
    "adam": ("exp_avg", "exp_avg_sq"),
    "amsgrad": ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"),
    "nadam": ("exp_avg", "exp_avg_sq"),
    "rmsprop": ("square_avg",),
    "rmsprop-tf": ("mean_square",),
}
FUSED = ("adam", "amsgrad")
NADAM_MOMENTUM_DECAY = 0.004


def initial_statistics(kind: str, size: int) -> Tensor:
    """Statistics before the first update, [number of statistics, size].

    >>> initial_statistics("rmsprop-tf", 3).tolist()
    [[1.0, 1.0, 1.0]]
    """
    start = 1.0 if kind == "rmsprop-tf" else 0.0
    return torch.full((len(STATISTICS[kind]), size), start)


class Optimizer(Protocol):
    """Changes a vector of weights in place."""

    def step(self, gradient: Tensor, learning_rate: float, count: int) -> None:
        """Apply one gradient; `count` is how many updates the statistics have seen, this one included."""
        ...


def make_optimizer(settings: OptimizerSettings, weights: Tensor, statistics: Tensor) -> Optimizer:
    """The optimizer that the settings name, over the given weights and statistics."""
    if settings.optimizer == "rmsprop-tf":
        return TensorFlowRMSProp(weights, statistics[0], settings.rms_decay, settings.epsilon)
    return TorchOptimizer(settings, weights, statistics)


class TorchOptimizer:
    """One of torch's update rules, with its statistics in the given tensors.

    The rules are called as functions: torch's classes load its compiler, which costs every process three seconds.
    """

    def __init__(self, settings: OptimizerSettings, weights: Tensor, statistics: Tensor) -> None:
        self.settings = settings
        self.weights = weights
        self.statistics = list(statistics)
        # A fused kernel wants the count where the weights are; the other rules read it on the host.
        self.count = torch.zeros((), device=weights.device if settings.optimizer in FUSED else "cpu")
        self.momenta = MomentumProduct(settings.beta1)

    def step(self, gradient: Tensor, learning_rate: float, count: int) -> None:
        """Apply one gradient."""
        self.count.fill_(count - 1)
        chosen, weights, gradients, counted = self.settings, [self.weights], [gradient], [self.count]
        common: dict[str, Any] = {"lr": learning_rate, "eps": chosen.epsilon, "weight_decay": 0.0}
        if chosen.optimizer == "rmsprop":
            (square,) = self.statistics
            common |= {"alpha": chosen.rms_decay, "momentum": 0.0, "centered": False}
            rmsprop(weights, gradients, [square], [], [], counted, **common)
            return
        mean, square, *largest = self.statistics
        common |= {"beta1": chosen.beta1, "beta2": chosen.beta2}
        if chosen.optimizer == "nadam":
            self.momenta.advance_to(count - 1)
            common["momentum_decay"] = NADAM_MOMENTUM_DECAY
            nadam(weights, gradients, [mean], [square], [self.momenta.product], counted, **common)
        else:
            common |= {"amsgrad": bool(largest), "maximize": False, "fused": True}
            adam(weights, gradients, [mean], [square], largest, counted, **common)


class MomentumProduct:
    """NAdam's product of momenta after any number of updates, in double precision."""

    def __init__(self, beta1: float) -> None:
        self.beta1 = beta1
        self.count = 0
        self.exact = 1.0
        self.product = torch.ones(())

    def advance_to(self, count: int) -> None:
        """Set `product` to what it is after `count` updates."""
        if count < self.count:
            self.count, self.exact = 0, 1.0
        while self.count < count:
            self.count += 1
            self.exact *= self.beta1 * (1.0 - 0.5 * 0.96 ** (self.count * NADAM_MOMENTUM_DECAY))
        self.product.fill_(self.exact)


class TensorFlowRMSProp:
    """RMSProp as TensorFlow 1 does it: epsilon inside the root, and an accumulator that starts at 1.

    The difference to torch's decides whether small-batch A3C is stable.
    """

    def __init__(self, weights: Tensor, mean_square: Tensor, decay: float, epsilon: float) -> None:
        self.weights = weights
        self.mean_square = mean_square
        self.decay = decay
        self.epsilon = epsilon

    def step(self, gradient: Tensor, learning_rate: float, count: int) -> None:  # noqa: ARG002
        """Apply one gradient."""
        self.mean_square.lerp_(gradient.square(), 1.0 - self.decay)
        self.weights.addcdiv_(gradient, (self.mean_square + self.epsilon).sqrt(), value=-learning_rate)
