"""`hogwild resume RUN`"""

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hogwild.cli.arguments import RunName, parse
from hogwild.cli.display import make_display
from hogwild.errors import UsageError

if TYPE_CHECKING:
    from hogwild.runs.folder import RunFolder


@dataclass(frozen=True)
class Resume:
    """Go on with a run from its newest good checkpoint, with the settings it was started with."""

    run: RunName
    """Name or path of a run, or 'latest', the one that trained last."""
    steps: int | None = None
    """A new limit of steps (0: none)."""
    minutes: float | None = None
    """A new limit of minutes, those before included (0: none)."""
    until_return: float | None = None
    """A new mean return at which to stop."""
    address: str | None = None
    """Another Ray cluster to train on (of runs with --engine ray)."""
    runs: str = "runs"
    """Folder that holds all runs."""
    quiet: bool = False
    """Show no progress."""
    json: bool = False
    """Print the outcome as one line of JSON."""


def main(arguments: list[str]) -> int:
    """Resume."""
    given = parse(Resume, "resume", arguments)
    from hogwild.config.settings import Settings
    from hogwild.progress import RECENT
    from hogwild.resolve import read_file
    from hogwild.runs.find import find_run
    from hogwild.runs.folder import read_json

    run = find_run(given.run, given.runs)
    wanted = {"steps": given.steps, "minutes": given.minutes, "until_return": given.until_return}
    changes: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    if changes and given.until_return is None:  # who gives another stop rule does not want the old return to stop it
        changes["until_return"] = None
    settings = Settings().update(**read_file(run.config) | changes)
    status = read_json(run.status)
    limit, done = settings.run.steps, int(status.get("steps", 0))
    if limit and done >= limit:
        if changes:
            raise UsageError(f"Run '{run.name}' already has {done:,} steps; give a larger --steps, or --steps 0.")
        return _nothing_to_do(given, run, status, f"has finished its {limit:,} steps; give --steps for more.")
    spent, minutes = float(status.get("seconds", 0.0)) / 60, settings.run.minutes
    if minutes and spent >= minutes:
        if given.minutes is not None:
            raise UsageError(
                f"Run '{run.name}' has already taken {spent:.1f} minutes; --minutes is for all of it, 0 for no limit."
            )
        return _nothing_to_do(
            given, run, status, f"has had its {minutes:g} minutes; give a larger --minutes, for all of it."
        )
    goal, mean = settings.run.until_return, status.get("return_mean")
    if goal is not None and mean is not None and mean >= goal and status["episodes"] >= RECENT and not changes:
        reason = f"is solved: mean return {mean:.2f} ≥ {goal:g}; give --steps or --until-return for more."
        return _nothing_to_do(given, run, status, reason)
    from hogwild.training import resume_training

    if given.address is not None:
        changes["address"] = given.address
    outcome = resume_training(run.path, make_display(given.quiet or given.json), **changes)
    if given.json:
        print(json.dumps(dataclasses.asdict(outcome), default=str))
    return 128 + outcome.signal if outcome.signal else 0


def _nothing_to_do(given: Resume, run: "RunFolder", status: dict[str, Any], reason: str) -> int:
    if given.json:
        print(json.dumps({"folder": str(run.path), "reason": reason, "steps": status.get("steps", 0)}))
    else:
        print(f"Run '{run.name}' {reason}")
    return 0
