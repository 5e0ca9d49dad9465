"""How loops that share weights take turns: they pause before everything that others can see or change.

What runs a loop decides what a pause means: a process of its own goes straight on, the seeded engine lets another
loop move, a replay looks up on the tape whose turn it was.
"""

from collections.abc import Callable, Generator
from enum import Enum
from typing import TypeVar

from torch import Tensor

from hogwild.link import Contribution, Link, Pulled
from hogwild.report import Receipt
from hogwild.stopwatch import Stopwatch

Answer = TypeVar("Answer")


class Turn(Enum):
    """Why a loop pauses."""

    IDLE = "idle"  # between two rollouts: nothing is under way
    READY = "ready"  # what comes next is seen by others, or changed by them
    WAITING = "waiting"  # nothing can be done until others have moved


class Stopped(Exception):
    """The run ends while something was waited for."""


class Door:
    """A link as a loop goes through it: pauses before it, waits where it has to, and keeps the time."""

    def __init__(self, link: Link, stopped: Callable[[], bool]) -> None:
        self.link = link
        self.stopped = stopped
        self.clock = Stopwatch()

    def pull(self, into: Tensor) -> Generator[Turn, None, Pulled]:
        """Copy the newest weights into a vector."""
        return self.through(lambda: self.link.pull(into))

    def push(self, contribution: Contribution) -> Generator[Turn, None, Receipt]:
        """Hand over a contribution."""
        return self.through(lambda: self.link.push(contribution))

    def finish(self) -> Generator[Turn, None, bool]:
        """Say that a rollout has given all that it had."""
        return self.through(lambda: self.link.finish() or None)

    def through(self, action: Callable[[], Answer | None]) -> Generator[Turn, None, Answer]:
        """Do something that others can see, once they let us: `action` answers None as long as they do not."""
        yield Turn.READY
        while True:
            with self.clock.of("exchange"):
                answer = action()
            if answer is not None:
                return answer
            if self.stopped():
                raise Stopped
            with self.clock.of("waiting"):
                yield Turn.WAITING
