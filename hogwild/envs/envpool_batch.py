"""Environments that EnvPool has written anew in C++, in batches."""

import warnings
from typing import Any

import numpy as np

from hogwild.config.suggest import unknown
from hogwild.envs.batch import EnvBatch, Step
from hogwild.envs.foreign import guarded
from hogwild.envs.ids import EnvPlan
from hogwild.envs.layout import Layout
from hogwild.errors import UsageError


class EnvPoolBatch(EnvBatch):
    """N environments of EnvPool. They are laid out for a policy as Gymnasium's of the same name are, so that an agent
    can be evaluated and filmed in those."""

    def __init__(self, name: str, layout: Layout, num_envs: int, threads: int, episode_steps: int | None) -> None:
        if any(leaf.path and isinstance(leaf.path[0], int) for leaf in layout.observations.leaves):
            raise UsageError(f"--backend envpool: of '{name}' observations are a tuple, which it lays out otherwise.")
        if layout.observations.mask_in_info:
            raise UsageError(f"--backend envpool: '{name}' tells in `info` which actions are allowed, and it does not.")
        self.name = name
        self.num_envs = num_envs
        self.threads = threads
        self.layout = layout
        self.spec = layout.spec
        self.limit: dict[str, Any] = {} if episode_steps is None else {"max_episode_steps": episode_steps}
        self.pool: Any = None  # its seeds are given when it is made
        self.seen = layout.observations.empty(num_envs)

    def reset(self, seeds: list[int]) -> np.ndarray:
        """First observations."""

        def make_and_reset() -> Any:
            import envpool

            self.close()
            seed = [int(seed) % 2**31 for seed in seeds]  # it holds them in 32 bits
            wanted = {"num_envs": self.num_envs, "num_threads": self.threads, "seed": seed} | self.limit
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*precision lowered")  # in how it describes its bounds
                self.pool = envpool.make(envpool_id(self.name), env_type="gymnasium", **wanted)
                return self.pool.reset()[0]

        self.seen[:] = self._collected(guarded(self.name, "reset", make_and_reset))
        return self.layout.observations.arrange(self.seen)

    def step(self, actions: np.ndarray) -> Step:
        """Take one action in every environment."""
        step: Step = guarded(self.name, "step", lambda: self._step(np.asarray(self.layout.actions(actions))))
        return step

    def _step(self, actions: np.ndarray) -> Step:
        observation, rewards, ended, cut, _ = self.pool.step(actions)
        self.seen[:] = self._collected(observation)
        final = None
        over = ended | cut
        if over.any():
            final = self.layout.observations.arrange(self.seen.copy())
            which = np.flatnonzero(over).astype(np.int32)
            first, info = self.pool.reset(which)
            self.seen[info["env_id"]] = self._collected(first)  # in whatever order they are ready
        seen = self.layout.observations.arrange(self.seen)
        return Step(seen, rewards.astype(np.float64), ended, cut & ~ended, over, final)

    def _collected(self, observations: Any) -> np.ndarray:
        found = self.layout.observations
        return np.asarray(observations) if found.is_array else found.pack(observations, batched=True)

    def close(self) -> None:
        """Close all environments."""
        if self.pool is not None:
            self.pool.close()
            self.pool = None


def envpool_id(name: str) -> str:
    """What EnvPool calls an environment: its id without the module.

    >>> envpool_id("minigrid:MiniGrid-MemoryS7-v0")
    'MiniGrid-MemoryS7-v0'
    """
    return name.rpartition(":")[2]


def require_in_envpool(plan: EnvPlan) -> None:
    """Refuse what EnvPool does not have, or what needs no EnvPool."""
    if plan.is_atari:
        raise UsageError("--backend envpool: Atari games are stepped in C++ already; leave it out.")
    name = envpool_id(plan.id)
    try:
        import envpool
    except ImportError:
        raise UsageError(
            "--backend envpool needs a package that is not installed: pip install 'hogwild[envpool]'"
        ) from None
    if name not in (known := envpool.list_all_envs()):
        complaint = unknown("environment of EnvPool", name, known)
        raise UsageError(f"{complaint} Gymnasium's own are stepped without --backend envpool.")
