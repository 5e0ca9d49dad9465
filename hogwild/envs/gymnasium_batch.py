"""Any Gymnasium environment with discrete actions and array observations, in batches."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from hogwild.envs.atari_game import AtariGame
from hogwild.envs.batch import Step
from hogwild.envs.env_state import Unsavable, load_env, save_env
from hogwild.errors import EnvironmentFailed, UsageError
from hogwild.policies.spec import PolicySpec

SMALLEST_PICTURE = 16  # pixels; smaller arrays with two axes are tables, not pictures


class GymnasiumBatch:
    """N copies of one environment, stepped one after the other in this process.

    A plain loop: what Gymnasium's own vectors do beside it (copying, merging infos) takes longer than a step of
    CartPole. What `step` answers is overwritten by the next one.
    """

    def __init__(self, name: str, make: Callable[[], gymnasium.Env[Any, Any]], num_envs: int) -> None:
        self.name = name
        self.num_envs = num_envs
        self.envs: list[gymnasium.Env[Any, Any]] = guarded(name, "be made", lambda: [make() for _ in range(num_envs)])
        space = self.envs[0].observation_space
        self.layout = read_spaces(name, space, self.envs[0].action_space)
        self.spec = self.layout.spec
        self.has_lives = getattr(self.envs[0].unwrapped, "has_lives", False)
        self.seen = np.zeros((num_envs, *self.layout.shape), space.dtype)

    def reset(self, seeds: list[int]) -> np.ndarray:
        """First observations."""

        def reset_all() -> None:
            first = [env.reset(seed=int(seed))[0] for env, seed in zip(self.envs, seeds, strict=True)]
            np.stack(first, out=self.seen)  # refuses what does not have the shape of the space

        guarded(self.name, "reset", reset_all)
        return self.layout.arrange(self.seen)

    def step(self, actions: np.ndarray) -> Step:
        """Take one action in every environment."""
        step: Step = guarded(self.name, "step", lambda: self._step(actions + self.spec.first_action))
        return step

    def _step(self, actions: np.ndarray) -> Step:
        rewards = np.zeros(self.num_envs)
        terminated, truncated, game_over = np.zeros((3, self.num_envs), dtype=bool)
        seen: list[Any] = []
        final: np.ndarray | None = None
        for index, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            observation, rewards[index], ended, cut, info = env.step(action)
            if ended or cut:
                terminated[index], truncated[index] = ended, cut and not ended
                game_over[index] = info["game_over"] if self.has_lives else True
                if final is None:
                    final = self.seen.copy()
                final[index] = observation
                observation = env.reset()[0]
            seen.append(observation)
        np.stack(seen, out=self.seen)
        last = None if final is None else self.layout.arrange(final)
        return Step(self.layout.arrange(self.seen), rewards, terminated, truncated, game_over, last)

    def state(self) -> dict[str, Any] | None:
        """State of every environment, or None if one cannot be saved."""
        try:
            return {"envs": [save_env(env) for env in self.envs]}
        except Unsavable:
            return None

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        for env, saved in zip(self.envs, state["envs"], strict=True):
            load_env(env, saved)

    def carried(self) -> list[dict[str, float]]:
        """What preprocessing has learned, for each environment."""
        games = [env.unwrapped for env in self.envs]
        learned = [game.carried() for game in games if isinstance(game, AtariGame)]
        return learned if any(learned) else []

    def load_carried(self, carried: list[dict[str, float]]) -> None:
        """Take over what preprocessing had learned; with fewer entries than environments they go round."""
        for index, env in enumerate(self.envs):
            if carried and isinstance(env.unwrapped, AtariGame):
                env.unwrapped.load_carried(carried[index % len(carried)])

    def close(self) -> None:
        """Close all environments."""
        for env in self.envs:
            env.close()


@dataclass(frozen=True)
class Layout:
    """How an environment lays out its observations, and what a policy gets to see of them."""

    kind: str
    shape: tuple[int, ...]  # as the environment has it
    spec: PolicySpec

    def arrange(self, observations: Any) -> np.ndarray:
        """A batch of observations as the policy wants them: pictures channels first, everything else flat."""
        batch = np.asarray(observations, dtype=self.spec.observation_dtype)
        if self.kind == "picture, channels last":
            return np.ascontiguousarray(np.moveaxis(batch, -1, 1))
        return batch.reshape(len(batch), *self.spec.observation_shape)


def read_spaces(name: str, observation: Any, action: Any) -> Layout:
    """The layout of an environment's observations; spaces that cannot be trained on are refused by name.

    >>> cart = gymnasium.make("CartPole-v1")
    >>> read_spaces("CartPole-v1", cart.observation_space, cart.action_space).spec.observation_shape
    (4,)
    """
    spaces = gymnasium.spaces
    if not isinstance(action, spaces.Discrete):
        raise UsageError(f"'{name}' has actions {action}; Hogwild trains environments with Discrete actions.")
    if not isinstance(observation, spaces.Box):
        raise UsageError(f"'{name}' has observations {observation}; Hogwild trains on Box observations.")
    shape = observation.shape
    seen: tuple[int, ...]
    dtype = "uint8" if observation.dtype == np.uint8 else "float32"
    if len(shape) == 3 and shape[2] <= 4 and min(shape[:2]) >= SMALLEST_PICTURE:
        kind, seen = "picture, channels last", (shape[2], *shape[:2])
    elif len(shape) == 3 and min(shape[1:]) >= SMALLEST_PICTURE:
        kind, seen = "picture, channels first", shape
    elif len(shape) == 2 and min(shape) >= SMALLEST_PICTURE:
        kind, seen = "plain picture", (1, *shape)
    else:
        kind, seen, dtype = "vector", (int(np.prod(shape)),), "float32"
    return Layout(kind, shape, PolicySpec(seen, dtype, int(action.n), int(action.start)))


WHERE = {
    "be made": "could not be made",
    "be drawn": "could not be drawn",
    "reset": "failed in reset",
    "step": "failed in step",
}


def guarded(name: str, action: str, call: Callable[[], Any]) -> Any:
    """Call into somebody else's environment; what it raises is reported under its name."""
    try:
        return call()
    except Exception as error:
        where = WHERE[action]
        raise EnvironmentFailed(f"Environment '{name}' {where}: {type(error).__name__}: {error}") from error
