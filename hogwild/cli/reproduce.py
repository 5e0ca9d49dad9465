"""`hogwild reproduce CAPSULE`"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from hogwild.cli.arguments import parse
from hogwild.errors import UsageError


@dataclass(frozen=True)
class Reproduce:
    """Play again what led to an environment's fault, in a process of its own, and say whether it happens again."""

    capsule: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="CAPSULE")]
    """A file in the folder `capsules` of a run."""
    timeout: float = 60.0
    """Seconds after which an environment that does not answer counts as hanging."""
    json: bool = False
    """Print one line of JSON."""


def main(arguments: list[str]) -> int:
    """Reproduce; the exit code is 1 unless the same went wrong again."""
    given = parse(Reproduce, "reproduce", arguments)
    if given.timeout <= 0:
        raise UsageError(f"--timeout {given.timeout:g}: must be greater than 0.")
    from hogwild.faults.capsule import read_capsule, reproduce

    capsule = read_capsule(Path(given.capsule))
    if not given.json:
        print(f"{capsule.env}: {capsule.what}")
        if len(capsule.played) > 1:
            print(f"Its worker had {len(capsule.played)} environments; any of them may have been it.")
    found = None
    for replay in reproduce(capsule, given.timeout):
        played = replay.played
        if not given.json:
            began = "" if played.is_whole else ", of which the beginning is not known"
            words = f"after action {replay.after:,}: {replay.what}" if replay.what else "nothing went wrong"
            print(f"  environment {played.index}, seed {played.seed}, {len(played.actions):,} actions{began}: {words}")
        if replay.what:
            found = replay
        if replay.is_same:
            break
    is_same = found is not None and found.is_same
    if given.json:
        again = found.what if found else None
        print(json.dumps({"env": capsule.env, "happened": capsule.what, "again": again, "is_same": is_same}))
    else:
        print("It happened again." if is_same else "Something else happened." if found else "It did not happen again.")
    return int(not is_same)
