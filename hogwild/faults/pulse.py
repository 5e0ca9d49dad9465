"""By when each participant has to be done with what may hang: its environments are somebody else's code."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from hogwild.alarm import BUILDING, Alarm, late_words, unbuilt_words
from hogwild.shareable import Shareable

LATE_SECONDS = 2.0  # between two looks at the participants: we have been stopped


class Pulse(Shareable):
    """Deadlines in shared memory, one for each participant; 0 while nothing is under way that could hang."""

    def __init__(self, participants: int, seconds: float) -> None:
        """`seconds` are what a step or a reset of environments may take; 0: any time."""
        self.deadlines = torch.zeros(participants, dtype=torch.float64)
        self.seconds = seconds
        self.interrupts = False  # whether who is late is in the main thread of this process, and interrupted there

    def is_late(self, rank: int, now: float) -> bool:
        """Whether a participant should have been done before now."""
        return 0 < float(self.deadlines[rank]) < now

    def forget(self, rank: int) -> None:
        """Nothing is under way any more."""
        self.deadlines[rank] = 0.0

    def of(self, rank: int) -> "Heart":
        """The handle of one participant."""
        if self.interrupts:
            return AlarmedHeart(self.seconds)
        return Heart(self.deadlines.numpy()[rank : rank + 1], self.seconds)

    def words(self, state: str) -> str:
        """What is said of who is late, which plays or still builds its environments."""
        if state == "starting":
            return f"an environment {unbuilt_words(self.seconds)}"
        return f"its environments {late_words(self.seconds)}"


class Patience:
    """Whether who is late has had the time: if we were stopped for a while, all others may have been, too.

    >>> patience = Patience(0.0)
    >>> patience.is_over(1.0), patience.is_over(31.0), patience.is_over(32.0), patience.is_over(33.5)
    (True, False, False, True)
    """

    def __init__(self, now: float) -> None:
        self.looked, self.lasts_until = now, 0.0

    def is_over(self, now: float) -> bool:
        """To be asked at every look."""
        if now - self.looked > LATE_SECONDS:
            self.lasts_until = now + LATE_SECONDS
        self.looked = now
        return now > self.lasts_until


class Heart:
    """What a participant says before and after it does what may hang."""

    def __init__(self, deadline: np.ndarray, seconds: float) -> None:
        self.deadline = deadline
        self.seconds = seconds or float("inf")

    @contextmanager
    def building(self) -> Iterator[None]:
        """Environments are being made."""
        self.deadline[0] = time.monotonic() + BUILDING * self.seconds
        try:
            yield
        finally:
            self.deadline[0] = 0.0

    def __enter__(self) -> None:
        """Environments are about to step."""
        self.deadline[0] = time.monotonic() + self.seconds

    def __exit__(self, *_: object) -> None:
        """They have stepped."""
        self.deadline[0] = 0.0


class AlarmedHeart(Heart):
    """Of one who plays where nobody could kill it: what hangs is interrupted, which costs an episode."""

    def __init__(self, seconds: float) -> None:
        super().__init__(np.zeros(1), seconds)
        self.alarm = Alarm(seconds, f"it {late_words(seconds)}")
        self.patience = Alarm(BUILDING * seconds, f"it {unbuilt_words(seconds)}")

    @contextmanager
    def building(self) -> Iterator[None]:
        """Environments are being made."""
        with self.patience:
            yield

    def __enter__(self) -> None:
        self.alarm.__enter__()

    def __exit__(self, *what: object) -> None:
        self.alarm.__exit__(*what)


def no_pulse() -> Heart:
    """A heart that nobody listens to."""
    return Heart(np.zeros(1), 0.0)
