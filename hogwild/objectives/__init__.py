"""What is optimised. An objective is a record of numbers with a pure `loss(policy, minibatch, step)`."""

from collections.abc import Callable

from hogwild.config.settings import Settings
from hogwild.objectives.a3c import A3C
from hogwild.objectives.objective import Loss, Objective
from hogwild.objectives.ppo import PPO
from hogwild.objectives.vtrace import VTrace
from hogwild.own import is_own, load_own

__all__ = ["A3C", "PPO", "Loss", "Objective", "VTrace", "make_objective"]

OBJECTIVES: dict[str, Callable[[Settings, int], Objective]] = {
    "a3c": A3C.of_worker,
    "ppo": PPO.of_worker,
    "vtrace": VTrace.of_worker,
}


def make_objective(settings: Settings, rank: int) -> Objective:
    """The objective of one worker."""
    name = settings.objective.objective
    made: Objective = (load_own(name, "--objective").of_worker if is_own(name) else OBJECTIVES[name])(settings, rank)
    return made
