"""Every valid combination learns: the probe that needs all parts of an agent, and CartPole."""

from pathlib import Path
from typing import Any

import pytest

import hogwild
from tests.cells.cells import Cell, every_cell
from tests.test_learn import assert_solved, train_on_probe

pytestmark = [pytest.mark.learn, pytest.mark.usefixtures("contract")]
PROBE = "hogwild/ProbeObservationAction-v0"


def longer(cell: Cell) -> dict[str, Any]:
    """What some exchanges need beyond the settings of this probe, whose learning rate is large."""
    if cell.exchange == "gradients":  # as little lag as can be
        return {"steps": 12_000, "slots": 1, "learning_rate": 5e-3}
    return {"steps": 12_000} if cell.exchange == "barrier" else {}


@every_cell
def test_the_probe_that_needs_everything_is_solved(cell: Cell, tmp_path: Path) -> None:
    assert_solved(PROBE, train_on_probe(PROBE, tmp_path, **cell.settings(), **longer(cell)))


@every_cell
def test_the_probe_is_solved_with_a_memory(cell: Cell, tmp_path: Path) -> None:
    settings: dict[str, Any] = {**cell.settings(), **longer(cell), "memory": "gru", "minibatches": 2}
    assert_solved(PROBE, train_on_probe(PROBE, tmp_path, **settings))


@every_cell
def test_cartpole_is_solved(cell: Cell, tmp_path: Path) -> None:
    goal = {"until_return": 400, "steps": 1_000_000}
    run = hogwild.train("CartPole-v1", workers=2, runs=str(tmp_path), **goal, **cell.settings())
    # The games that end while workers finish may lower the mean again: that it was reached is in the log.
    assert "solved: mean return" in run.folder.log.read_text()
