"""The contract of a batch of environments, whatever they are made of.

Finished environments start anew within the same step; what Gymnasium calls autoreset is dealt with inside a batch and
never seen outside.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hogwild.errors import EnvironmentFailed
from hogwild.policies.spec import PolicySpec

LEFT_SPACE = "left its observation space"  # the words for a fault that does no harm


@dataclass(frozen=True)
class Fault:
    """What one environment did wrong; its episode is lost, and another has begun, unless it does no harm."""

    index: int  # of the environment in its batch
    what: str  # in words
    details: str = ""  # where it happened
    capsule: str = ""  # file with what led to it
    is_harmless: bool = False  # nothing is lost


@dataclass(frozen=True)
class Step:
    """What N environments answer to N actions."""

    observations: np.ndarray  # [N, …] to act on next: the first of a new episode where one ended
    rewards: np.ndarray  # [N] raw
    terminated: np.ndarray  # [N] the episode ended, for learning: nothing follows
    truncated: np.ndarray  # [N] the episode was cut off: what would follow has a value
    game_over: np.ndarray  # [N] a whole game ended; a lost life alone does not
    final_observations: np.ndarray | None  # [N, …] valid where truncated: the real last observation
    faults: tuple[Fault, ...] = ()  # where an episode is lost: truncated there, but no game is over


class EnvBatch(Protocol):
    """N environments that step together."""

    num_envs: int
    spec: PolicySpec
    seeds: np.ndarray | None = None  # [N] the last seeds taken, where some are taken on the way
    seen: np.ndarray = np.zeros(0)  # [N, …] the last observations as they came, where seeds are taken on the way

    def reset(self, seeds: list[int]) -> np.ndarray:
        """First observations, [N, …]."""
        ...

    def step(self, actions: np.ndarray) -> Step:
        """Take one action in every environment."""
        ...

    def state(self) -> dict[str, Any] | None:
        """Everything needed to go on from here, or None if that cannot be saved."""
        return None

    def load_state(self, state: dict[str, Any]) -> None:  # noqa: ARG002
        """Go on from a saved state; called only where there is one."""
        raise EnvironmentFailed("environments that cannot be saved cannot be restored")

    def replay(self, index: int, seed: int, actions: list[Any]) -> None:
        """Begin one environment again with its last seed and do what was done since."""
        raise AssertionError(f"episode {index} has no seed of its own: {seed}, {len(actions)}")

    def carried(self) -> list[dict[str, float]]:
        """What preprocessing has learned and a resumed run should keep, for each environment; usually nothing."""
        return []

    def load_carried(self, carried: list[dict[str, float]]) -> None:  # noqa: ARG002
        """Take over what preprocessing had learned."""
        return

    def close(self) -> None:
        """Release what the environments hold."""
        ...
