"""What all tests have in common: nothing outlives one. And the table in `docs/cells.md`, which those of cells write."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.cells.cells import CELLS, ENGINES

PAGE = Path(__file__).parent.parent / "docs" / "cells.md"
HEADER = """# What is tested

Every combination of objective, exchange and engine has to pass the same tests. This table is written by the test run
itself (`make test`), from the tests that passed; `·` is a promise that does not apply to the engine.

`ppo × gradients` is refused: each pass over a rollout needs the update of the one before, and gradients on their way
are not in the weights yet. `ppo × weights` and `ppo × trajectories` are its neighbours.
"""


SHARED = Path("/dev/shm")
SETTLING = (
    2.0  # seconds in which a process that was killed may vanish, and what tests beside this one share for a moment
)


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """No process and no shared memory outlives a test."""
    before, shared = ours(), shared_memory()
    yield
    end = time.monotonic() + SETTLING
    while (set(ours()) - set(before) or shared_memory() - shared) and time.monotonic() < end:
        time.sleep(0.05)
    left = set(ours()) - set(before)
    assert not left, [ours().get(pid) for pid in left]
    assert not shared_memory() - shared


def ours() -> dict[int, str]:
    """Processes that this one has started, also through the server that tests fork from, and their command lines."""
    found = {child.pid: _words(child) for child in psutil.Process().children()}
    servers = [pid for pid, words in found.items() if "forkserver" in words]
    found |= {child.pid: "forked" for pid in servers for child in psutil.Process(pid).children()}
    return {
        pid: words
        for pid, words in found.items()
        if any(word in words for word in ("spawn_main", "-m hogwild", "forked"))
    }


def _words(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()) if process.status() != psutil.STATUS_ZOMBIE else ""
    except psutil.Error:
        return ""


def shared_memory() -> set[str]:
    """What lies in /dev/shm and is torch's."""
    return {name for name in os.listdir(SHARED) if "torch" in name} if SHARED.is_dir() else set()


@pytest.fixture
def contract(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> None:
    """Marks a test as one promise that is kept by a cell: its name is the promise."""
    promise = request.node.originalname.removeprefix("test_").replace("_", " ")
    record_property("promise", promise)
    record_property("cell", str(request.node.callspec.params["cell"]))


class Table:
    """Gathers what the tests of cells found; with several test processes it does so in the one that leads them."""

    def __init__(self) -> None:
        self.held: dict[str, set[str]] = {}
        self.broken = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in one result."""
        noted = dict(report.user_properties)
        if "promise" in noted and report.when == "call":
            self.broken |= not report.passed
            if report.passed:
                self.held.setdefault(str(noted["promise"]), set()).add(str(noted["cell"]))

    def pytest_sessionfinish(self) -> None:
        """Write the page, if all cells were tested."""
        tested = set().union(*self.held.values()) if self.held else set()
        if not self.broken and tested == {str(cell) for cell in CELLS} and len(self.held) > 5:
            PAGE.write_text(page(self.held), encoding="utf-8")


def page(held: dict[str, set[str]]) -> str:
    """The table, a section for each engine."""
    text = HEADER
    for engine in ENGINES:
        cells = [cell for cell in CELLS if cell.engine == engine]
        text += f"\n## `{engine}`\n\n| | " + " | ".join(f"{c.objective} × {c.exchange}" for c in cells) + " |\n"
        text += "|---" * (len(cells) + 1) + "|\n"
        for promise in sorted(held):
            marks = ["✓" if str(cell) in held[promise] else "·" for cell in cells]
            text += f"| {promise} | " + " | ".join(marks) + " |\n"
    return text


def pytest_configure(config: pytest.Config) -> None:
    """Lead the table, unless another process does. Ctrl-C and closed terminals mean what they mean to a user, also
    where tests are run in the background by a shell that ignores them, which their processes would inherit."""
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Table(), "table of cells")
