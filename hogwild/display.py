"""What a training tells whoever watches it."""

import dataclasses
import sys
from pathlib import Path
from typing import Protocol

from hogwild.engines.engine import WorkerStatus
from hogwild.progress import Progress
from hogwild.resolve import Resolved
from hogwild.runs.folder import RunFolder


class Display(Protocol):
    """Whatever shows a training to a person."""

    def begin(self, resolved: Resolved, folder: RunFolder, progress: Progress) -> None:
        """Training is about to start."""
        ...

    def update(self, progress: Progress, row: dict[str, float] | None, workers: list[WorkerStatus]) -> None:
        """Something happened; `row` is there when a new row of metrics is."""
        ...

    def warn(self, message: str) -> None:
        """Something is not as it should be, but training goes on."""
        ...

    def end(self, outcome: "Outcome") -> None:
        """Training is over."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was, however the training ended."""
        ...


class Silent:
    """Shows nothing."""

    def begin(self, resolved: Resolved, folder: RunFolder, progress: Progress) -> None:
        """Show nothing."""

    def update(self, progress: Progress, row: dict[str, float] | None, workers: list[WorkerStatus]) -> None:
        """Show nothing."""

    def warn(self, message: str) -> None:
        """Warnings are shown even by who shows nothing."""
        print(f"hogwild: {message}", file=sys.stderr)

    def end(self, outcome: "Outcome") -> None:
        """Show nothing."""

    def close(self) -> None:
        """Nothing to leave."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a training ended."""

    folder: Path
    reason: str  # for people: 'solved: mean return 20.1 ≥ 20'
    signal: int  # the signal that ended it, or 0
    steps: int
    seconds: float
    return_mean: float | None  # of the last 100 games; None if none has ended
    checkpoint: Path | None
