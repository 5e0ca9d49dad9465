"""Gradients from rollouts, and weights from gradients. Nothing here knows of threads, processes or sockets."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from hogwild.config.settings import Settings, of_worker
from hogwild.maths.schedules import linear
from hogwild.objectives import Objective
from hogwild.optimizers import Optimizer, make_optimizer
from hogwild.policies.flat import FlatLayout
from hogwild.policies.policy import Policy
from hogwild.rollout import Played, Rollout


@dataclass(frozen=True)
class Gradients:
    """What a rollout, or a part of it, says about the weights."""

    flat: Tensor  # [parameters] in the layout of the weights
    steps: int
    played: tuple[Played, ...]  # the rollouts that they come from
    metrics: dict[str, float] = field(default_factory=dict)
    stop: bool = False  # the objective has had enough of this rollout
    first: bool = True  # of this rollout: what is decided of it holds for those that follow
    is_finite: bool = True  # or nothing is to be learned from it but that its steps were played


class Recorder(Protocol):
    """Somebody who keeps what is learned from."""

    def take(self, rollout: Rollout, minibatch: Any, number: int, step: int) -> None:
        """The `number`th update of a rollout is about to be computed."""
        ...

    def take_bad(self, rollout: Rollout, minibatch: Any, number: int, step: int) -> None:
        """The `number`th update of a rollout was not finite."""
        ...


class Hooked(Protocol):
    """Somebody's own code that is called between two pieces of work; it answers metrics."""

    def rollout(self, rollout: Rollout) -> dict[str, float]:
        """A rollout has been played."""
        ...

    def update(self, metrics: dict[str, float]) -> dict[str, float]:
        """Gradients have been computed."""
        ...


class GradientComputer:
    """Turns rollouts into clipped gradients of one policy.

    Gradients are values: they are computed by `torch.autograd.grad` and copied into one vector. Nothing aliases
    `.grad`, so nothing has to be zeroed and nothing can be applied twice.
    """

    def __init__(
        self, policy: Policy, layout: FlatLayout, objective: Objective, max_norm: float, seed: int = 0
    ) -> None:
        self.policy = policy
        self.objective = objective
        self.max_norm = max_norm
        self.generator = torch.Generator().manual_seed(seed)
        self.flat = torch.zeros(layout.num_parameters, device=policy.device)
        pairs = zip(policy.parameters(), layout.views(self.flat), strict=True)
        learned = [(parameter, view) for parameter, (_, view) in pairs if parameter.requires_grad]
        self.parameters = [parameter for parameter, _ in learned]
        self.views = [view for _, view in learned]
        self.recorder: Recorder | None = None
        self.hooks: Hooked | None = None

    def minibatches(self, rollout: Rollout) -> Iterator[Any]:
        """What to learn from a rollout, one update each."""
        return self.objective.minibatches(rollout, self.generator)

    def compute(
        self, minibatch: Any, step: int, steps: int, played: tuple[Played, ...], first: bool = True
    ) -> Gradients:
        """Gradients of one minibatch; the vector is reused."""
        loss = self.objective.loss(self.policy, minibatch, step)
        metrics = loss.metrics
        gradients = torch.autograd.grad(loss.total, self.parameters, materialize_grads=True)  # of what is unused, 0
        torch._foreach_copy_(self.views, gradients)  # what optimizers of torch use: one call for all
        norm = clip_(self.flat, self.max_norm)
        if not math.isfinite(norm):
            self.flat.zero_()
            return Gradients(self.flat, steps, played, {}, stop=False, first=first, is_finite=False)
        metrics["gradient/norm"] = norm
        if self.max_norm:
            metrics["gradient/clipped"] = float(norm > self.max_norm)
        return Gradients(self.flat, steps, played, metrics, loss.stop, first)


def clip_(flat: Tensor, max_norm: float) -> float:
    """Scale a vector down to a norm, in place; answers the norm that it had. A limit of 0 is none.

    >>> vector = torch.tensor([3.0, 4.0])
    >>> clip_(vector, 1.0), [round(x, 3) for x in vector.tolist()]
    (5.0, [0.6, 0.8])
    """
    norm: float = flat.norm().item()
    if 0 < max_norm < norm < math.inf:
        flat.mul_(max_norm / norm)
    return norm


class Learner:
    """Owns weights and optimizer: applies gradients to the weights at the scheduled learning rate."""

    def __init__(self, settings: Settings, rank: int, weights: Tensor, statistics: Tensor) -> None:
        """`weights` [parameters] and `statistics` [k, parameters] are changed in place; they may be shared."""
        self.optimizer: Optimizer = make_optimizer(settings.optimizer, weights, statistics)
        self.initial_rate = of_worker(settings.optimizer.learning_rate, rank)
        self.final_fraction = settings.optimizer.learning_rate_final
        self.schedule_steps = settings.optimizer.schedule_steps

    def learning_rate(self, step: int) -> float:
        """The learning rate after `step` steps of all environments."""
        return linear(self.initial_rate, self.final_fraction, self.schedule_steps, step)

    def apply(self, gradient: Tensor, count: int, step: int) -> None:
        """Make one update; `count` is how many the statistics have seen, this one included."""
        self.optimizer.step(gradient, self.learning_rate(step), count)
