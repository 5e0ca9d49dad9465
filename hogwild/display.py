"""What a training tells whoever watches it."""

import dataclasses
import os
import sys
from collections.abc import Callable
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


class Steady:
    """Another display, until there is nobody left to show anything to: a closed terminal does not end a training."""

    def __init__(self, inner: Display) -> None:
        self.inner = inner

    def begin(self, resolved: Resolved, folder: RunFolder, progress: Progress) -> None:
        """Training is about to start."""
        self._try(lambda: self.inner.begin(resolved, folder, progress))

    def update(self, progress: Progress, row: dict[str, float] | None, workers: list[WorkerStatus]) -> None:
        """Something happened."""
        self._try(lambda: self.inner.update(progress, row, workers))

    def warn(self, message: str) -> None:
        """Something is not as it should be."""
        self._try(lambda: self.inner.warn(message))

    def end(self, outcome: "Outcome") -> None:
        """Training is over."""
        self._try(lambda: self.inner.end(outcome))

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._try(self.inner.close)

    def _try(self, show: Callable[[], None]) -> None:
        try:
            show()
        except OSError:
            self.inner = Silent()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except OSError:  # whatever is still in it goes nowhere, or the end of the process would complain
                    os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


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
    lost: int = 0  # episodes, to faults of their environments
