"""Any Gymnasium environment with discrete actions and array observations, in batches."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from hogwild.envs.atari_game import AtariGame
from hogwild.envs.batch import Step
from hogwild.envs.env_state import Unsavable, load_env, save_env
from hogwild.errors import EnvironmentFailed, UsageError
from hogwild.policies.spec import PolicySpec

SMALLEST_PICTURE = 16  # pixels; smaller arrays with two axes are tables, not pictures


class GymnasiumBatch:
    """N copies of one environment, stepped one after the other in this process through Gymnasium's vector API."""

    def __init__(self, name: str, make: Callable[[], gymnasium.Env[Any, Any]], num_envs: int) -> None:
        self.name = name
        self.num_envs = num_envs
        self.envs = guarded(
            name,
            "be made",
            lambda: SyncVectorEnv([make] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP, copy=False),
        )
        self.layout, self.spec = read_spaces(name, self.envs.single_observation_space, self.envs.single_action_space)
        self.has_lives = getattr(self.envs.envs[0].unwrapped, "has_lives", False)
        self.first_action = int(getattr(self.envs.single_action_space, "start", 0))

    def reset(self, seeds: list[int]) -> np.ndarray:
        """First observations."""
        observations, _ = guarded(self.name, "reset", lambda: self.envs.reset(seed=list(seeds)))
        return self._arrange(observations)

    def step(self, actions: np.ndarray) -> Step:
        """Take one action in every environment."""
        observations, rewards, terminated, truncated, info = guarded(
            self.name, "step", lambda: self.envs.step(actions + self.first_action)
        )
        ended = terminated | truncated
        if not ended.any():
            return Step(self._arrange(observations), rewards, terminated, truncated, ended, None)
        final = np.array(observations)
        for index in np.flatnonzero(ended):
            final[index] = info["final_obs"][index]
        game_over = ended & info["final_info"]["game_over"] if self.has_lives else ended
        truncated = truncated & ~terminated
        return Step(self._arrange(observations), rewards, terminated, truncated, game_over, self._arrange(final))

    def _arrange(self, observations: Any) -> np.ndarray:
        if self.layout == "picture, channels last":
            return np.ascontiguousarray(np.moveaxis(observations, -1, 1), dtype=self.spec.observation_dtype)
        if self.layout == "plain picture":
            return np.asarray(observations, dtype=self.spec.observation_dtype)[:, None]
        if self.layout == "vector":
            return np.asarray(observations, dtype=np.float32).reshape(self.num_envs, -1)
        return np.asarray(observations, dtype=self.spec.observation_dtype)

    def state(self) -> dict[str, Any] | None:
        """State of every environment, or None if one cannot be saved."""
        try:
            return {"envs": [save_env(env) for env in self.envs.envs]}
        except Unsavable:
            return None

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        for env, saved in zip(self.envs.envs, state["envs"], strict=True):
            load_env(env, saved)

    def carried(self) -> list[dict[str, float]]:
        """What preprocessing has learned, for each environment."""
        games = [env.unwrapped for env in self.envs.envs]
        learned = [game.carried() for game in games if isinstance(game, AtariGame)]
        return learned if any(learned) else []

    def load_carried(self, carried: list[dict[str, float]]) -> None:
        """Take over what preprocessing had learned; with fewer entries than environments they go round."""
        for index, env in enumerate(self.envs.envs):
            if carried and isinstance(env.unwrapped, AtariGame):
                env.unwrapped.load_carried(carried[index % len(carried)])

    def close(self) -> None:
        """Close all environments."""
        self.envs.close()


def read_spaces(name: str, observation: Any, action: Any) -> tuple[str, PolicySpec]:
    """How observations are laid out, and what the policy has to know; other spaces are refused by name.

    >>> cart = gymnasium.make("CartPole-v1")
    >>> read_spaces("CartPole-v1", cart.observation_space, cart.action_space)[1]
    PolicySpec(observation_shape=(4,), observation_dtype='float32', num_actions=2)
    """
    spaces = gymnasium.spaces
    if not isinstance(action, spaces.Discrete):
        raise UsageError(f"'{name}' has actions {action}; Hogwild trains environments with Discrete actions.")
    if not isinstance(observation, spaces.Box):
        raise UsageError(f"'{name}' has observations {observation}; Hogwild trains on Box observations.")
    shape, actions = observation.shape, int(action.n)
    dtype = "uint8" if observation.dtype == np.uint8 else "float32"
    if len(shape) == 3 and shape[2] <= 4 and min(shape[:2]) >= SMALLEST_PICTURE:
        return "picture, channels last", PolicySpec((shape[2], *shape[:2]), dtype, actions)
    if len(shape) == 3 and min(shape[1:]) >= SMALLEST_PICTURE:
        return "picture, channels first", PolicySpec(shape, dtype, actions)
    if len(shape) == 2 and min(shape) >= SMALLEST_PICTURE:
        return "plain picture", PolicySpec((1, *shape), dtype, actions)
    return "vector", PolicySpec((int(np.prod(shape)),), "float32", actions)


def guarded(name: str, action: str, call: Callable[[], Any]) -> Any:
    """Call into somebody else's environment; what it raises is reported under its name."""
    try:
        return call()
    except Exception as error:
        where = {"be made": "could not be made", "reset": "failed in reset", "step": "failed in step"}[action]
        raise EnvironmentFailed(f"Environment '{name}' {where}: {type(error).__name__}: {error}") from error
