"""Signals that end a training in order."""

import ctypes
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

PR_SET_PDEATHSIG = 1  # of linux/prctl.h
WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """Remembers the first signal; Ctrl-C after it ends everything at once. Who is no person and sends SIGTERM again, as
    `timeout` does, to a process and to its group, has to wait."""

    def __init__(self) -> None:
        self.first = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Take signals while inside; in a thread that is not the main one there are none to take."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        wanted = [number for number in WATCHED if signal.getsignal(number) != signal.SIG_IGN]  # as nohup has it
        before = {number: signal.signal(number, self._handle) for number in wanted}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.first and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.first = self.first or number


def die_with_parent() -> None:
    """Ask the kernel to end this process with its parent, even while it is stopped; only Linux can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
