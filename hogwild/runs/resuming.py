"""Going on from a checkpoint: with other settings than it was made with, or with one that only looks whole."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hogwild.config.settings import RunSettings, Settings
from hogwild.errors import CheckpointError, UsageError

MAY_DIFFER = {*vars(RunSettings()), "address"}  # names, places and stop rules say nothing of what is learned


def as_json(settings: Settings) -> dict[str, Any]:
    """Settings as they are kept in a checkpoint.

    >>> as_json(Settings(env="CartPole-v1"))["discount"]
    [0.99]
    """
    flat: dict[str, Any] = json.loads(json.dumps(settings.flat()))
    return flat


def changed_settings(before: dict[str, Any] | None, settings: Settings) -> list[str]:
    """What has changed, in a line; another environment is refused. Older checkpoints do not say.

    >>> changed_settings(as_json(Settings()), Settings().update(discount=0.5))
    ['Not as in its checkpoint: discount 0.99 → 0.5.']
    """
    if before is None:
        return []
    now = as_json(settings)
    if before["env"] != now["env"]:
        raise UsageError(f"The run was trained in '{before['env']}', and its config.toml says '{now['env']}'.")
    changed = [name for name in now if name in before and name not in MAY_DIFFER and before[name] != now[name]]
    words = ", ".join(f"{name} {_shown(before[name])} → {_shown(now[name])}" for name in changed)
    return [f"Not as in its checkpoint: {words}."] if changed else []


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


@contextmanager
def refusing_nonsense(name: str) -> Iterator[None]:
    """Take over what a checkpoint holds. One that was made to look whole may hold anything: that is refused by name."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RuntimeError) as error:
        raise CheckpointError(f"{name} holds what Hogwild never writes: {error!r}.") from error
