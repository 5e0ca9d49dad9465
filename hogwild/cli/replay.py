"""`hogwild replay RUN`"""

import dataclasses
import json
import sys
from dataclasses import dataclass

from hogwild.cli.arguments import RunName, parse


@dataclass(frozen=True)
class ReplayRun:
    """Repeat a run that was trained with --record-schedule, update by update, and compare the weights bit for bit.

    Exit code 0 if all weights came out the same, 1 if not.
    """

    run: RunName
    """Name or path of a run, or 'latest', the one that trained last."""
    runs: str = "runs"
    """Folder that holds all runs."""
    json: bool = False
    """Print the result as one line of JSON."""


def main(arguments: list[str]) -> int:
    """Replay."""
    given = parse(ReplayRun, "replay", arguments)
    from hogwild.machine import versions
    from hogwild.replay import replay
    from hogwild.runs.find import find_run
    from hogwild.runs.folder import read_json
    from hogwild.runs.meta import machine

    folder = find_run(given.run, given.runs)
    result = replay(folder, _show_progress if sys.stderr.isatty() else None)
    if given.json:
        print(json.dumps(dataclasses.asdict(result)))
    elif result.differs_at is None:
        print(f"{result.updates:,} updates ({result.events:,} events) repeated: all weights are the same, bit for bit.")
    else:
        print(f"The weights differ from update {result.differs_at:,} on, first in '{result.tensor}'.")
        meta = read_json(folder.meta)
        for what, there, here in (
            ("versions", meta.get("versions"), versions()),
            ("machine", meta.get("machine"), machine()),
        ):
            if there != here:
                print(f"Recorded with other {what}: {there}; here: {here}.")
    return 0 if result.differs_at is None else 1


def _show_progress(done: int, total: int) -> None:
    if done % 50 == 0 or done == total - 1:
        print(f"\r{done + 1:,} of {total:,} events", end="\n" if done == total - 1 else "", file=sys.stderr, flush=True)
