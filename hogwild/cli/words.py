"""Words and signs for people: durations, courses, what is left, what to expect."""

import math
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from hogwild.progress import Progress
from hogwild.reference import find_reference
from hogwild.resolve import Resolved

BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """The course of a value in one line of blocks.

    >>> sparkline([0, 1, 2, 3], width=4)
    '▁▃▆█'
    """
    if not values:
        return ""
    picked = [values[int(i * len(values) / min(width, len(values)))] for i in range(min(width, len(values)))]
    picked[-1] = values[-1]
    low, high = min(values), max(values)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((v - low) * scale)] for v in picked)


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(3725), duration(61)
    ('1:02:05', '1:01')
    """
    whole = int(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def time_left(progress: Progress, resolved: Resolved) -> str:
    """Time until a stop rule ends the training at the latest; empty if none does."""
    run = resolved.settings.run
    limits = []
    if run.minutes:
        limits.append(run.minutes * 60 - progress.seconds)
    done = progress.steps
    if run.steps and done and progress.seconds > 0:
        limits.append((run.steps - done) / (done / progress.seconds))
    return duration(max(0.0, min(limits))) if limits else ""


class Expectation:
    """What reference runs let a run expect."""

    def __init__(self, resolved: Resolved) -> None:
        self.reference = find_reference(resolved)
        self.goal = resolved.settings.run.until_return

    def words(self, progress: Progress) -> str:
        """Where a run stands among the references, and when it will have the return that it is to stop at.

        Empty where there are no references, or no game has ended.
        """
        reference, mean = self.reference, progress.return_mean
        if reference is None or math.isnan(mean):
            return ""
        low, middle, high = reference.at(progress.steps)
        words = f"reference {middle:.1f} here ({low:.1f} to {high:.1f})"
        if self.goal is None or not progress.seconds:
            return words
        left = reference.steps_left(progress.steps, mean, self.goal) / (progress.steps / progress.seconds)
        return f"{words}, {self.goal:g} in about {duration(left)}" if math.isfinite(left) else words


def program() -> str:
    """How to call this program again: by its path where the shell would not find it by its name."""
    return "hogwild" if shutil.which("hogwild") or Path(sys.argv[0]).name != "hogwild" else sys.argv[0]
