"""What is optimised. An objective is a record of numbers with a pure `loss(policy, rollout, step)`."""

from hogwild.config.settings import Settings
from hogwild.objectives.a3c import A3C
from hogwild.objectives.objective import Objective

__all__ = ["A3C", "Objective", "make_objective"]


def make_objective(settings: Settings, rank: int) -> Objective:
    """The objective of one worker."""
    return A3C.for_worker(settings, rank)
