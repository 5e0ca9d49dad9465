"""Hooks: code of your own that a training calls (`--hooks my_module:MyHooks`).

Override what you need. What runs in a worker runs between two pieces of its work, never in the middle of one, and its
time is reported as `time/hooks`. What a hook returns becomes a metric under `own/`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hogwild.errors import HogwildError
from hogwild.own import load_own
from hogwild.report import Episode
from hogwild.rollout import Rollout


class Hooks:
    """The hooks that there are; each worker has an instance of its own, and the coordinator another.

    >>> class CountZeros(Hooks):
    ...     def on_rollout(self, rollout):
    ...         return {"zero_rewards": (rollout.rewards == 0).float().mean().item()}
    """

    def on_rollout(self, rollout: Rollout) -> Mapping[str, float] | None:  # noqa: ARG002
        """A worker has played a rollout and has not learned from it. Its tensors are used again: copy what you keep."""
        return None

    def on_update(self, metrics: Mapping[str, float]) -> Mapping[str, float] | None:  # noqa: ARG002
        """Whoever learns has computed the gradients of one update; these are its metrics."""
        return None

    def on_episode(self, episode: Episode) -> None:
        """The coordinator hears that a whole game has ended."""

    def on_checkpoint(self, path: Path) -> None:
        """The coordinator has written a checkpoint."""


class Caller:
    """Calls hooks; what goes wrong in them is said to be theirs."""

    def __init__(self, name: str) -> None:
        self.name = name
        kind = load_own(name, "--hooks")
        self.hooks = self._guarded("__init__", kind)

    def rollout(self, rollout: Rollout) -> dict[str, float]:
        """A worker has played a rollout."""
        return _own(self._guarded("on_rollout", lambda: self.hooks.on_rollout(rollout)))

    def update(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Gradients have been computed."""
        return _own(self._guarded("on_update", lambda: self.hooks.on_update(metrics)))

    def episode(self, episode: Episode) -> None:
        """A game has ended."""
        self._guarded("on_episode", lambda: self.hooks.on_episode(episode))

    def checkpoint(self, path: Path) -> None:
        """A checkpoint has been written."""
        self._guarded("on_checkpoint", lambda: self.hooks.on_checkpoint(path))

    def _guarded(self, where: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except HogwildError:
            raise
        except Exception as error:
            raise HogwildError(f"--hooks {self.name} failed in {where}: {type(error).__name__}: {error}") from error


def _own(metrics: Mapping[str, float] | None) -> dict[str, float]:
    return {f"own/{name}": float(value) for name, value in (metrics or {}).items()}
