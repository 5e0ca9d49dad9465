"""Processes that work for the page: what they say, how they fail, and that none is left behind."""

import sys
from contextlib import aclosing
from typing import Any

import psutil
import pytest

from hogwild.dashboard.helper import Helper
from hogwild.dashboard.jobs import Jobs
from hogwild.runs.folder import RunFolder
from tests.dashboard.conftest import run_async

SPEAKER = """
from hogwild.helper_process import own_channel, say
channel = own_channel()
say(channel, done=1)
"""


def helper_of(script: str) -> Helper:
    helper = Helper("unused")
    helper.command = [sys.executable, "-c", script]
    return helper


def said_by(helper: Helper) -> list[dict[str, Any]]:
    async def listen() -> list[dict[str, Any]]:
        return [message async for message in helper.messages()]

    return run_async(listen())


def test_what_an_environment_prints_is_no_message() -> None:
    assert said_by(helper_of(SPEAKER + "print(5); print('not JSON at all')")) == [{"done": 1}]


@pytest.mark.parametrize(
    ("end", "expected"),
    [("raise ValueError('oh dear')", "ValueError: oh dear"), ("import os; os._exit(7)", "It ended with code 7.")],
)
def test_one_that_dies_is_told_of_with_its_last_words(end: str, expected: str) -> None:
    assert said_by(helper_of(SPEAKER + end)) == [{"done": 1}, {"error": expected}]


def test_one_whom_nobody_listens_to_any_more_is_ended() -> None:
    helper = helper_of(SPEAKER + "import time; time.sleep(600)")

    async def listen_once() -> int:
        async with aclosing(helper.messages()) as messages:
            async for _ in messages:
                assert helper.process is not None
                return helper.process.pid
        raise AssertionError("it said nothing")

    assert not psutil.pid_exists(run_async(listen_once()))


def test_a_job_that_fails_leaves_the_next_its_turn(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts = iter(["raise SystemExit('broken')", SPEAKER + "say(channel, result={'mean': 1.0})"])
    monkeypatch.setattr("hogwild.dashboard.jobs.Helper", lambda *_: helper_of(next(scripts)))

    async def work() -> list[Any]:
        jobs = Jobs()
        first, second = (jobs.add(RunFolder(tmp_path), "evaluate", "1", 3, False) for _ in range(2))
        assert jobs.task is not None
        await jobs.task
        return [first, second]

    first, second = run_async(work())
    assert (first.state, first.error) == ("failed", "broken")
    assert (second.state, second.result) == ("done", {"mean": 1.0})


def test_what_it_is_told_before_it_is_there_reaches_it() -> None:
    helper = helper_of(SPEAKER + "import json, sys; say(channel, heard=json.loads(sys.stdin.readline()))")
    helper.tell({"speed": 2})
    assert said_by(helper) == [{"done": 1}, {"heard": {"speed": 2}}]
