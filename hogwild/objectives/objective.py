"""The contract between an objective and everything that runs it."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from hogwild.policies.policy import Policy
from hogwild.rollout import Rollout


class Loss(NamedTuple):
    """What to minimise, and what to report of it."""

    total: Tensor
    metrics: dict[str, float]
    stop: bool = False  # the policy has moved far enough: make no more passes over the rollout


class Objective(Protocol):
    """A loss to be minimised; pure, so that it runs the same in every exchange and engine."""

    def minibatches(self, rollout: Rollout, generator: torch.Generator) -> Iterator[Any]:
        """What to learn from a rollout, one update each, in order; only `loss` looks inside."""
        ...

    def loss(self, policy: Policy, minibatch: Any, step: int) -> Loss:
        """The loss of one minibatch; `step` drives schedules."""
        ...
