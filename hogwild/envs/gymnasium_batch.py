"""Any Gymnasium environment, in batches."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from hogwild.envs.atari_game import AtariGame
from hogwild.envs.batch import Step
from hogwild.envs.env_state import Unsavable, load_env, save_env
from hogwild.envs.layout import Layout, read_layout
from hogwild.errors import EnvironmentFailed, HogwildError, UsageError


class GymnasiumBatch:
    """N copies of one environment, stepped one after the other in this process.

    A plain loop: what Gymnasium's own vectors do beside it (copying, merging infos) takes longer than a step of
    CartPole. What `step` answers is overwritten by the next one.
    """

    def __init__(
        self, name: str, make: Callable[[], gymnasium.Env[Any, Any]], num_envs: int, rescale_actions: bool = True
    ) -> None:
        self.name = name
        self.num_envs = num_envs
        self.envs: list[gymnasium.Env[Any, Any]] = guarded(name, "be made", lambda: [make() for _ in range(num_envs)])
        self.layout: Layout = guarded(name, "reset", lambda: read_layout(name, self.envs[0], rescale_actions))
        self.spec = self.layout.spec
        self.collect = self.layout.observations.collect
        self.has_lives = getattr(self.envs[0].unwrapped, "has_lives", False)
        self.seen = self.layout.observations.empty(num_envs)

    def reset(self, seeds: list[int]) -> np.ndarray:
        """First observations."""

        def reset_all() -> None:
            first = [self.collect(*env.reset(seed=int(seed))) for env, seed in zip(self.envs, seeds, strict=True)]
            np.stack(first, out=self.seen)  # refuses what does not have the shape of the space

        guarded(self.name, "reset", reset_all)
        return self.layout.observations.arrange(self.seen)

    def step(self, actions: np.ndarray) -> Step:
        """Take one action in every environment."""
        step: Step = guarded(self.name, "step", lambda: self._step(self.layout.actions(actions)))
        return step

    def _step(self, actions: Any) -> Step:
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
                final[index] = self.collect(observation, info)
                observation, info = env.reset()
            seen.append(self.collect(observation, info))
        np.stack(seen, out=self.seen)
        last = None if final is None else self.layout.observations.arrange(final)
        return Step(self.layout.observations.arrange(self.seen), rewards, terminated, truncated, game_over, last)

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


EXTRAS = {"box2d": "box2d", "mujoco": "mujoco", "imageio": "mujoco", "pygame": "render"}  # words in complaints
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
    except HogwildError:
        raise
    except Exception as error:
        extra = next((extra for word, extra in EXTRAS.items() if word in str(error).lower()), "")
        if extra and isinstance(error, ImportError | gymnasium.error.DependencyNotInstalled):
            raise UsageError(
                f"'{name}' needs a package that is not installed: pip install 'hogwild[{extra}]'"
            ) from error
        where = WHERE[action]
        raise EnvironmentFailed(f"Environment '{name}' {where}: {type(error).__name__}: {error}") from error
