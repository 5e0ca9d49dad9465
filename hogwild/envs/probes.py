"""Five tiny environments that an agent can only solve if one more part of it works.

Each isolates one thing: whether values are learned, whether they depend on what is seen, whether the discount is
right, whether the policy follows reward, and whether it follows it depending on what is seen. An agent that fails
one says where to look. They are registered as `hogwild/ProbeConstant-v0` and so on.
"""

from typing import Any

import gymnasium
import numpy as np


class Probe(gymnasium.Env[np.ndarray, np.int64]):
    """Observation +1 or −1; what follows from it differs between the probes."""

    num_actions = 1
    episode_steps = 1
    best_return = 1.0

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(self.num_actions)
        self.seen = 1.0
        self.time = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed, options=options)
        self.time = 0
        self.seen = self.first()
        return np.array([self.seen], dtype=np.float32), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take an action."""
        reward = self.reward(int(action))
        self.time += 1
        self.seen = self.following()
        done = self.time == self.episode_steps
        return np.array([self.seen], dtype=np.float32), reward, done, False, {}

    def first(self) -> float:
        """What is seen first."""
        return 1.0

    def following(self) -> float:
        """What is seen after a step."""
        return self.seen

    def reward(self, action: int) -> float:
        """What an action earns."""
        raise NotImplementedError

    def _coin(self) -> float:
        return 1.0 if self.np_random.random() < 0.5 else -1.0


class ConstantReward(Probe):
    """Always 1: the value must become 1."""

    def reward(self, action: int) -> float:  # noqa: ARG002
        """Always 1."""
        return 1.0


class ObservationReward(Probe):
    """The reward is the observation: the value must be +1 or −1 by what is seen."""

    best_return = 0.0

    def first(self) -> float:
        """A coin toss."""
        return self._coin()

    def reward(self, action: int) -> float:  # noqa: ARG002
        """What is seen."""
        return self.seen


class DelayedReward(Probe):
    """1 after the second step: the value must be 1 there and the discount one step before."""

    episode_steps = 2

    def first(self) -> float:
        """+1 in the first step."""
        return 1.0

    def following(self) -> float:
        """−1 in the second."""
        return -1.0

    def reward(self, action: int) -> float:  # noqa: ARG002
        """1 at the end."""
        return float(self.time == 1)


class ActionReward(Probe):
    """1 for action 1, −1 for action 0: the policy must take action 1."""

    num_actions = 2

    def reward(self, action: int) -> float:
        """1 for action 1."""
        return 1.0 if action == 1 else -1.0


class ObservationActionReward(Probe):
    """1 for the action that matches the observation, else −1."""

    num_actions = 2

    def first(self) -> float:
        """A coin toss."""
        return self._coin()

    def reward(self, action: int) -> float:
        """1 if the action matches what is seen."""
        return 1.0 if (action == 1) == (self.seen > 0) else -1.0


PROBES = {
    "hogwild/ProbeConstant-v0": ConstantReward,
    "hogwild/ProbeObservation-v0": ObservationReward,
    "hogwild/ProbeDelayed-v0": DelayedReward,
    "hogwild/ProbeAction-v0": ActionReward,
    "hogwild/ProbeObservationAction-v0": ObservationActionReward,
}
for _id, _probe in PROBES.items():
    if _id not in gymnasium.registry:
        gymnasium.register(_id, entry_point=_probe)  # type: ignore[arg-type]
