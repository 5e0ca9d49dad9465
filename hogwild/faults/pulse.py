"""By when each participant has to be done with what may hang: its environments are somebody else's code."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from hogwild.shareable import Shareable

BUILDING = 10  # times as long as a step may take: emulators are slow to build


class Pulse(Shareable):
    """Deadlines in shared memory, one for each participant; 0 while nothing is under way that could hang."""

    def __init__(self, participants: int, seconds: float) -> None:
        """`seconds` are what a step or a reset of environments may take; 0: any time."""
        self.deadlines = torch.zeros(participants, dtype=torch.float64)
        self.seconds = seconds

    def is_late(self, rank: int, now: float) -> bool:
        """Whether a participant should have been done before now."""
        return 0 < float(self.deadlines[rank]) < now

    def forget(self, rank: int) -> None:
        """Nothing is under way any more."""
        self.deadlines[rank] = 0.0

    def of(self, rank: int) -> "Heart":
        """The handle of one participant."""
        return Heart(self.deadlines.numpy()[rank : rank + 1], self.seconds)


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

    def begin(self) -> None:
        """Environments are about to step."""
        self.deadline[0] = time.monotonic() + self.seconds

    def end(self) -> None:
        """They have stepped."""
        self.deadline[0] = 0.0


def no_pulse() -> Heart:
    """A heart that nobody listens to."""
    return Heart(np.zeros(1), 0.0)
