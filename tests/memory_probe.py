"""A probe that only a memory solves: a coin is shown first, another one eight steps later, and then the question is
whether they were alike. Who has forgotten the first is right half of the time."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

STEPS_BETWEEN = 8


class MemoryProbe(gymnasium.Env[np.ndarray, int]):
    """Reward 1 at the end for the right answer; nothing else counts."""

    observation_space = spaces.Box(-1.0, 1.0, (3,), np.float32)
    action_space = spaces.Discrete(2)  # type: ignore[assignment]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Toss both coins, and show the first."""
        super().reset(seed=seed)
        self.coins = self.np_random.integers(2, size=2)
        self.time = 0
        return self._see(), {}

    def _see(self) -> np.ndarray:
        first, second = 2.0 * self.coins - 1.0
        is_last = self.time == STEPS_BETWEEN
        return np.array([first if self.time == 0 else 0.0, second if is_last else 0.0, is_last], np.float32)

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Wait, and judge the answer at the end."""
        if self.time == STEPS_BETWEEN:
            return self._see(), float(action == (self.coins[0] == self.coins[1])), True, False, {}
        self.time += 1
        return self._see(), 0.0, False, False, {}


if "hogwild-tests/Memory-v0" not in gymnasium.registry:
    gymnasium.register("hogwild-tests/Memory-v0", MemoryProbe)
