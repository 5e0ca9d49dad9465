"""Deadlines for somebody else's code, one inside another."""

import signal
import time
from types import FrameType

import pytest

from hogwild.alarm import Alarm


def test_what_takes_too_long_is_interrupted() -> None:
    began = time.monotonic()
    with pytest.raises(TimeoutError, match="it is late"), Alarm(0.2, "it is late"):
        time.sleep(60)
    assert time.monotonic() - began < 5


def test_what_is_in_time_is_left_alone_and_so_is_what_comes_after() -> None:
    handler, (left, interval) = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    with Alarm(0.05, "it is late"):
        pass
    time.sleep(0.2)
    assert signal.getsignal(signal.SIGALRM) == handler
    now, same = signal.getitimer(signal.ITIMER_REAL)  # that of the test's own time limit
    assert left - 30 < now <= left
    assert same == interval


def test_the_clock_of_one_goes_on_while_others_begin_and_end_inside() -> None:
    began = time.monotonic()

    def begin_and_end() -> None:
        while time.monotonic() - began < 30:
            with Alarm(60.0, "the inner one"):
                time.sleep(0.001)

    with pytest.raises(TimeoutError, match="the outer one"), Alarm(0.5, "the outer one"):
        begin_and_end()
    assert time.monotonic() - began < 15


def test_somebody_elses_clock_goes_on_too() -> None:
    rang: list[int] = []

    def ring(number: int, frame: FrameType | None) -> None:
        rang.append(number)

    before, others = signal.signal(signal.SIGALRM, ring), signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        end = time.monotonic() + 10
        while not rang and time.monotonic() < end:
            with Alarm(60.0, "late"):
                time.sleep(0.01)
        assert rang == [signal.SIGALRM]
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *others)
