"""Environments whose actions have every form, one of them masked, and whose observations have awkward names."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

SHOWN = spaces.Box(-1.0, 1.0, (2,), np.float32)


class Acting(gymnasium.Env[Any, Any]):
    """Ten steps; reward for the choice that alone is allowed, and an error for what is not an action."""

    observation_space = SHOWN
    action_space = spaces.Dict(
        {
            "numbers": spaces.Box(-2.0, 3.0, (2, 3), np.float32),
            "both": spaces.Tuple([spaces.Discrete(3, start=5), spaces.MultiBinary([2, 2])]),
        }
    )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return self._see()

    def _see(self) -> tuple[Any, dict[str, Any]]:
        self.allowed = int(self.np_random.integers(3))
        mask = np.arange(3) == self.allowed
        shown = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return shown, {"action_mask": {"both": (mask.astype(np.int8), None), "numbers": None}}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        assert action["both"][0] - 5 == self.allowed, "a forbidden action"
        self.steps += 1
        reward = float(action["numbers"].sum() + action["both"][1].sum())
        observation, info = self._see()
        return observation, reward, self.steps >= 10, False, info


class Twice(Acting):
    """A key with a dot in it, and the same as a path."""

    observation_space = spaces.Dict({"a.b": SHOWN, "a": spaces.Dict({"b": SHOWN})})
    action_space = spaces.Discrete(2)

    def _see(self) -> tuple[Any, dict[str, Any]]:
        return {"a.b": np.zeros(2, np.float32), "a": {"b": np.zeros(2, np.float32)}}, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._see()[0], 0.0, True, False, {}


gymnasium.register("Acting-v0", Acting)
gymnasium.register("Twice-v0", Twice)
