"""Capsules: small files with all that is needed to make an environment's fault happen again."""

import dataclasses
import json
import multiprocessing
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from hogwild.alarm import HUNG
from hogwild.config.settings import Settings
from hogwild.envs.batch import LEFT_SPACE
from hogwild.envs.blackbox import Played
from hogwild.envs.ids import plan_env
from hogwild.envs.make import make_batch
from hogwild.errors import EnvironmentFailed, HogwildError, UsageError, exit_words
from hogwild.files import write_json
from hogwild.signals import die_with_parent

FORMAT = 1
LARGEST = 64e6  # bytes of a capsule that is read


@dataclass(frozen=True)
class Capsule:
    """What happened, and what had been done before."""

    env: str
    environment: dict[str, Any]  # settings of the environment that are not the plain ones
    what: str
    details: str  # where it happened
    versions: dict[str, str]
    played: tuple[Played, ...]  # one environment, or all of a worker that died: it may have been any


def write_capsule(folder: Path, name: str, capsule: Capsule) -> Path:
    """Write a capsule under a name that says when and who."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"
    path = next(p for n in range(1000) if not (p := folder / f"{stem}{f'-{n}' if n else ''}.json").exists())
    write_json(path, {"format": FORMAT} | dataclasses.asdict(capsule))
    return path


def read_capsule(path: Path) -> Capsule:
    """A capsule from its file; anything else is refused."""
    try:
        if path.stat().st_size > LARGEST:
            raise UsageError(f"'{path}' is too large to be a capsule.")
        content = json.loads(path.read_bytes())
        made_by = int(content.pop("format"))
        if made_by > FORMAT:
            raise UsageError(f"'{path}' has format {made_by}, and this Hogwild reads up to {FORMAT}: update Hogwild.")
        played = tuple(Played(**each) for each in content.pop("played"))
        capsule = Capsule(**content, played=played)
        for each in played:
            np.asarray(each.actions, dtype=float)
            if not isinstance(each.seed, int) or not isinstance(each.index, int):
                raise TypeError("seed")
        if not isinstance(capsule.env, str) or not isinstance(capsule.environment, dict):
            raise TypeError("env")
    except OSError as error:
        raise UsageError(f"Cannot read '{path}': {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise UsageError(f"'{path}' is not a capsule.") from None
    return capsule


@dataclass(frozen=True)
class Replay:
    """What came of playing one environment's actions again."""

    played: Played
    what: str  # empty: nothing went wrong
    after: int = 0  # actions
    is_same: bool = False  # it is what had happened before


def reproduce(capsule: Capsule, timeout: float) -> Iterator[Replay]:
    """Play everything in a capsule again, each environment in a process of its own, since it may die or hang."""
    for played in capsule.played:
        replay = _replay(capsule, played, timeout)
        yield dataclasses.replace(replay, is_same=is_same_fault(capsule.what, replay.what))


def is_same_fault(before: str, now: str) -> bool:
    """Whether what goes wrong now is what went wrong before; figures in it, such as addresses, may differ.

    >>> is_same_fault("Worker 1 (pid 7) died: killed by SIGSEGV.", "it died: killed by SIGSEGV")
    True
    >>> is_same_fault("Environment 'a' failed in step: ValueError: 3", "Environment 'a' failed in step: KeyError: 3")
    False
    >>> is_same_fault("Worker 1 (pid 7) died: exit code 3.", "it died: exit code 0")
    False
    """
    if not now:
        return False
    for kind in (HUNG, LEFT_SPACE):
        if kind in before or kind in now:
            return kind in before and kind in now
    return _without_figures(now.removeprefix("it ")) in _without_figures(before)


def _without_figures(words: str) -> str:
    return re.sub(r"0x[0-9a-f]+|(?<!exit code )(?<!\d)\d+", "#", words)


def _replay(capsule: Capsule, played: Played, timeout: float) -> Replay:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_play, args=(capsule, played, theirs), daemon=True)
    process.start()
    theirs.close()
    done, has_begun = 0, False
    try:
        while ours.poll(timeout if has_begun else 10 * timeout):
            kind, content, done = ours.recv()
            has_begun = True
            if kind == "unplayable" and not is_same_fault(capsule.what, content):
                raise EnvironmentFailed(content)
            if kind != "tick":
                return Replay(played, content, done)
        return Replay(played, f"it {HUNG} {timeout:g} s", done)
    except (EOFError, OSError):
        process.join(5.0)
        return Replay(played, f"it died: {exit_words(process.exitcode)}", done)
    finally:
        process.kill()
        process.join()
        ours.close()


def _play(capsule: Capsule, played: Played, pipe: Connection) -> None:
    die_with_parent()
    number = 0
    try:
        settings = Settings(env=capsule.env).update(**capsule.environment)
        batch = make_batch(plan_env(settings), settings.environment, 1)
        pipe.send(("tick", "", 0))
        batch.reset([played.seed])
        for number, action in enumerate(played.actions, start=1):
            pipe.send(("tick", "", number))
            step = batch.step(np.asarray([action], dtype=batch.spec.action_dtype))
            found = [fault for fault in step.faults if not fault.is_harmless or LEFT_SPACE in capsule.what]
            if found:
                pipe.send(("fault", found[0].what, number))
                return
    except HogwildError as error:
        pipe.send(("fault" if number else "unplayable", str(error), number))
    except BaseException as error:  # also what would end the process, as sys.exit does
        pipe.send(("fault", f"{type(error).__name__}: {error}", number))
    else:
        pipe.send(("fine", "", number))
