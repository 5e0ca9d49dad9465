"""An environment of your own: a lander with one engine.

hogwild check own_environment:Landing-v0
hogwild train own_environment:Landing-v0
"""

from typing import Any

import gymnasium
import numpy as np

GRAVITY, THRUST, TIME_STEP = -1.0, 2.0, 0.1


class Landing(gymnasium.Env[np.ndarray, np.ndarray]):
    """Touch down slowly: height and speed are seen, the thrust is chosen, and a hard landing costs what it is."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.action_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)
        self.render_mode = render_mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start somewhere above the ground."""
        super().reset(seed=seed, options=options)
        self.height, self.speed = self.np_random.uniform(2.0, 4.0), 0.0
        return self._see(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Fall or fly for a moment."""
        self.speed += TIME_STEP * (GRAVITY + THRUST * float(action[0]))
        self.height += TIME_STEP * self.speed
        landed = self.height <= 0.0
        reward = 1.0 - abs(self.speed) if landed else -0.01
        return self._see(), reward, landed, False, {}

    def _see(self) -> np.ndarray:
        return np.array([self.height, self.speed], np.float32)

    def render(self) -> np.ndarray:
        """A white lander above the ground."""
        picture = np.zeros((96, 64, 3), np.uint8)
        picture[88:] = (90, 60, 30)
        top = int(np.clip(84 - 14 * self.height, 0, 84))
        picture[top : top + 4, 28:36] = 255
        return picture


gymnasium.register("Landing-v0", Landing, max_episode_steps=200)
