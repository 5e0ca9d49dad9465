"""The contract between an objective and everything that runs it."""

from typing import Protocol

from torch import Tensor

from hogwild.policies.policy import Policy
from hogwild.rollout import Rollout


class Objective(Protocol):
    """A loss to be minimised; pure, so that it runs the same in every exchange and engine."""

    def loss(self, policy: Policy, rollout: Rollout, step: int) -> tuple[Tensor, dict[str, float]]:
        """The loss of one rollout, and what to report of it; `step` drives schedules."""
        ...
