"""A deadline for somebody else's code in this very process: in its main thread it is interrupted when it is late.

Workers that have processes of their own are killed instead. What cannot be interrupted is code in C that never comes
back to Python, and what runs in other threads.
"""

import signal
import threading
import time
from types import FrameType
from typing import Any

BUILDING = 10  # times as long as a step may take: emulators are slow to build
TICKS = 10  # of a deadline; time in which the whole process is stopped is one of them at most
HUNG = "did not answer within"


def late_words(seconds: float) -> str:
    """What is said of environments that hang in a step or a reset.

    >>> late_words(60.0)
    'did not answer within 60 s (--env-timeout)'
    """
    return f"{HUNG} {seconds:g} s (--env-timeout)"


def unbuilt_words(seconds: float) -> str:
    """What is said of environments that hang while they are made, where a step may take `seconds`.

    >>> unbuilt_words(60.0)
    'did not answer within 600 s (10 times --env-timeout)'
    """
    return f"{HUNG} {BUILDING * seconds:g} s ({BUILDING} times --env-timeout)"


class Alarm:
    """Raises `TimeoutError` in what is inside when it takes longer, and again after as long.

    >>> with Alarm(60.0, "it did not answer within 60 s"):
    ...     pass
    """

    def __init__(self, seconds: float, words: str) -> None:
        """`seconds` of 0 are any time."""
        self.tick, self.words = seconds / TICKS, words
        self.ticks, self.is_set = 0, False
        self.before: Any = None  # who took this signal

    def __enter__(self) -> None:
        self.ticks = 0
        is_main = threading.current_thread() is threading.main_thread()
        self.is_set = self.tick > 0 and is_main and hasattr(signal, "setitimer")
        if self.is_set:
            self.before = signal.signal(signal.SIGALRM, self._ring)
            self.others = signal.setitimer(signal.ITIMER_REAL, self.tick, self.tick)
            self.entered = time.monotonic()

    def __exit__(self, *_: object) -> None:
        if self.is_set:
            self.is_set = False  # a ring that is already on its way is nobody's any more
            left, interval = self.others  # of the clock around this one, which has gone on
            if left:
                left = max(1e-6, left - (time.monotonic() - self.entered))
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self.before)
            signal.setitimer(signal.ITIMER_REAL, left, interval)

    def _ring(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.ticks += self.is_set
        if self.ticks >= TICKS:
            self.ticks = 0
            raise TimeoutError(self.words)
