"""Gradients from rollouts, and weights from gradients. Nothing here knows of threads, processes or sockets."""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from hogwild.config.settings import Settings, of_worker
from hogwild.errors import NotFinite
from hogwild.maths.schedules import linear
from hogwild.objectives import Objective
from hogwild.optimizers import Optimizer, make_optimizer
from hogwild.policies.flat import FlatLayout
from hogwild.policies.policy import Policy
from hogwild.rollout import Rollout


@dataclass(frozen=True)
class Gradients:
    """What one rollout says about the weights."""

    flat: Tensor  # [parameters] in the layout of the weights
    steps: int
    version: int  # of the weights that they were computed on
    metrics: dict[str, float] = field(default_factory=dict)


class GradientComputer:
    """Turns rollouts into clipped gradients of one policy.

    Gradients are values: they are computed by `torch.autograd.grad` and copied into one vector. Nothing aliases
    `.grad`, so nothing has to be zeroed and nothing can be applied twice.
    """

    def __init__(self, policy: Policy, layout: FlatLayout, objective: Objective, max_norm: float) -> None:
        self.policy = policy
        self.objective = objective
        self.max_norm = max_norm
        self.parameters = [p for _, p in policy.named_parameters()]
        self.flat = torch.zeros(layout.num_parameters)
        self.views = [view for _, view in layout.views(self.flat)]

    def compute(self, rollout: Rollout, step: int) -> Gradients:
        """Gradients of one rollout; the vector is reused by the next call."""
        loss, metrics = self.objective.loss(self.policy, rollout, step)
        for view, gradient in zip(self.views, torch.autograd.grad(loss, self.parameters), strict=True):
            view.copy_(gradient)
        norm = self.flat.norm().item()
        if not math.isfinite(norm):
            raise NotFinite(f"The gradient is not finite at step {step:,}. Try a smaller --learning-rate.")
        if 0 < self.max_norm < norm:
            self.flat.mul_(self.max_norm / norm)
        metrics["gradient/norm"] = norm
        metrics["gradient/clipped"] = float(0 < self.max_norm < norm)
        return Gradients(self.flat, rollout.steps, rollout.version, metrics)


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

    def apply(self, gradients: Gradients, count: int, step: int) -> None:
        """Make one update; `count` is how many the statistics have seen, this one included."""
        self.optimizer.step(gradients.flat, self.learning_rate(step), count)
