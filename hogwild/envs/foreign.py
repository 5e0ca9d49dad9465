"""Calls into somebody else's environment: what it raises is said under its name, and it is not waited for for ever."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import gymnasium

from hogwild.alarm import Alarm
from hogwild.errors import EnvironmentFailed, HogwildError, UsageError

CLOSE_SECONDS = 5.0  # that all environments of a batch have
EXTRAS = {  # by words in complaints
    **{"box2d": "box2d", "mujoco": "mujoco", "imageio": "mujoco", "pygame": "render"},
    **{"minigrid": "minigrid", "ale_py": "atari"},
}
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
    except (Exception, SystemExit) as error:
        extra = next((extra for word, extra in EXTRAS.items() if word in str(error).lower()), "")
        if extra and isinstance(error, ImportError | gymnasium.error.DependencyNotInstalled):
            raise UsageError(
                f"'{name}' needs a package that is not installed: pip install 'hogwild[{extra}]'"
            ) from error
        if isinstance(error, gymnasium.error.UnregisteredEnv):
            raise UsageError(f"There is no environment '{name}': {error}") from error
        where = WHERE[action]
        raise EnvironmentFailed(f"Environment '{name}' {where}: {type(error).__name__}: {error}") from error


def close_all(envs: Sequence[gymnasium.Env[Any, Any]]) -> None:
    """Close environments; one that hangs or raises is left as it is: nobody needs it any more."""
    end = time.monotonic() + CLOSE_SECONDS
    for env in envs:
        with suppress(Exception, SystemExit), Alarm(max(0.1, end - time.monotonic()), "it did not close"):
            env.close()
