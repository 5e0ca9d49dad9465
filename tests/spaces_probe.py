"""A probe for every kind of action and observation: two coins are shown, and the right action depends on both.

An agent that sees only one of them gets three quarters of it right; one that sees both, all.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

ACTIONS = ("discrete", "multi-discrete", "continuous", "masked")
SHAPES = ("array", "dict")
PICTURES = {"mlp": 0, "a3c": 20, "nature": 36}  # pixels along each side
NUMBER = 0.5


class SpacesProbe(gymnasium.Env[Any, Any]):
    """One step: reward 1 for what both coins ask for, less for anything else."""

    def __init__(self, actions: str, shape: str, pixels: int) -> None:
        self.kind, self.shape, self.pixels = actions, shape, pixels
        coins = spaces.Box(-1.0, 1.0, (1,), np.float32)
        picture = spaces.Box(0, 255, (1, pixels, pixels), np.uint8)
        if shape == "dict":
            self.observation_space = spaces.Dict({"first": picture if pixels else coins, "second": coins})
        else:
            self.observation_space = picture if pixels else spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = {
            "discrete": spaces.Discrete(2),
            "multi-discrete": spaces.MultiDiscrete([2, 2]),
            "continuous": spaces.Box(-1.0, 1.0, (1,), np.float32),
            "masked": spaces.Discrete(4),
        }[actions]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Toss both coins."""
        super().reset(seed=seed)
        self.coins = self.np_random.integers(2, size=2)
        self.mask = np.zeros(4, np.int8)
        self.mask[[self.np_random.integers(2), 2 + self.np_random.integers(2)]] = 1
        return self._see()

    def _see(self) -> tuple[Any, dict[str, Any]]:
        first, second = (2.0 * self.coins - 1.0).astype(np.float32)
        info = {"action_mask": self.mask.copy()} if self.kind == "masked" else {}
        if not self.pixels:
            both = np.array([first, second], np.float32)
            return ({"first": both[:1], "second": both[1:]} if self.shape == "dict" else both), info
        picture = np.zeros((1, self.pixels, self.pixels), np.uint8)
        half = self.pixels // 2
        picture[:, :, :half] = 255 * self.coins[0]
        if self.shape == "dict":
            return {"first": picture, "second": np.array([second], np.float32)}, info
        picture[:, :, half:] = 255 * self.coins[1]
        return picture, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Judge the action."""
        assert self.action_space.contains(action), action
        wanted = int(self.coins.any())
        if self.kind == "discrete":
            reward = float(action == wanted)
        elif self.kind == "multi-discrete":
            reward = float(action[0] == wanted) / 2 + float(action[1] == 1 - wanted) / 2
        elif self.kind == "continuous":
            reward = 1.0 - float(abs(action[0] - NUMBER * (2 * wanted - 1)))
        else:
            assert self.mask[action], "a forbidden action"
            reward = float(action // 2 == wanted)
        observation, info = self._see()
        return observation, reward, True, False, info


def probe_id(actions: str, shape: str, encoder: str) -> str:
    """The id of one of them."""
    return f"hogwild-tests/{actions}-{shape}-{PICTURES[encoder]}-v0".replace("multi-discrete", "multidiscrete")


for _actions in ACTIONS:
    for _shape in SHAPES:
        for _encoder, _pixels in PICTURES.items():
            _id = probe_id(_actions, _shape, _encoder)
            if _id not in gymnasium.registry:
                gymnasium.register(_id, SpacesProbe, kwargs={"actions": _actions, "shape": _shape, "pixels": _pixels})
