"""Hooks: code of your own that a training calls (`--hooks my_module:MyHooks`).

Override what you need. What runs in a worker runs between two pieces of its work, never in the middle of one, and its
time is reported as `time/hooks`. What a hook returns becomes a metric under `own/`.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from hogwild.config.suggest import unknown
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


LAST_SECONDS = 2.0  # for what there is to tell on_episode when a signal or --minutes ends a training
NAMES = tuple(name for name in vars(Hooks) if name.startswith("on_"))


class Caller:
    """Calls hooks; what goes wrong in them is said to be theirs, and the coordinator's time in them is counted."""

    def __init__(self, name: str) -> None:
        self.name = name
        kind = load_own(name, "--hooks")
        self.hooks = self._guarded("__init__", kind)
        for given in dir(self.hooks):
            if given.startswith("on_") and given not in NAMES:
                raise unknown(f"hook of --hooks {name}", given, NAMES)
        self.spent, self.asked = 0.0, 0.0  # asked: never yet
        self.over_since = 0.0

    def rollout(self, rollout: Rollout) -> dict[str, float]:
        """A worker has played a rollout."""
        return self._measured("on_rollout", rollout)

    def update(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Gradients have been computed."""
        return self._measured("on_update", metrics)

    def episodes(self, finished: Iterable[Episode], is_over: Callable[[], bool]) -> None:
        """Games have ended; once the training `is_over`, slow hooks do not keep it from its end for long."""
        for episode in finished:
            if is_over():
                self.over_since = self.over_since or time.monotonic()
                if time.monotonic() - self.over_since > LAST_SECONDS:
                    return
            self._timed("on_episode", episode)

    def checkpoint(self, path: Path) -> None:
        """A checkpoint has been written."""
        self._timed("on_checkpoint", path)

    def share(self) -> float:
        """Which share of the time since it was last asked the coordinator has spent in hooks."""
        now, spent = time.monotonic(), self.spent
        passed, self.asked, self.spent = now - self.asked, now, 0.0
        return min(1.0, spent / max(passed, 1e-9))

    def _measured(self, name: str, argument: Any) -> dict[str, float]:
        def call() -> dict[str, float]:
            found = getattr(self.hooks, name, _nothing)(argument) or {}
            return {f"own/{metric}": float(value) for metric, value in found.items()}

        metrics: dict[str, float] = self._guarded(name, call)
        return metrics

    def _timed(self, name: str, argument: Any) -> None:
        began = time.monotonic()
        self.asked = self.asked or began
        self._guarded(name, lambda: getattr(self.hooks, name, _nothing)(argument))
        self.spent += time.monotonic() - began

    def _guarded(self, where: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except HogwildError:
            raise
        except Exception as error:
            raise HogwildError(f"--hooks {self.name} failed in {where}: {type(error).__name__}: {error}") from error


def _nothing(_: Any) -> None:
    """What a hook does that was left out."""
