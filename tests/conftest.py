"""The tests of cells write down which of them hold: `docs/cells.md` is their table."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cells.cells import CELLS, ENGINES

PAGE = Path(__file__).parent.parent / "docs" / "cells.md"
HEADER = """# What is tested

Every combination of objective, exchange and engine has to pass the same tests. This table is written by the test run
itself (`make test`), from the tests that passed; `·` is a promise that does not apply to the engine.

`ppo × gradients` is refused: each pass over a rollout needs the update of the one before, and gradients on their way
are not in the weights yet. `ppo × weights` and `ppo × trajectories` are its neighbours.
"""


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
    """Lead the table, unless another process does."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Table(), "table of cells")
