"""Losses, gradients and weights that are infinite or not a number."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import hogwild
from hogwild.config.settings import Settings
from hogwild.errors import CheckpointError, NotFinite
from hogwild.exchanges.shared import SKIPPED, SKIPPED_IN_A_ROW, STEPS, VERSION
from hogwild.faults.guard import Guard
from hogwild.inputs import recorded_updates
from hogwild.learning import GradientComputer
from hogwild.resolve import layer, resolve
from hogwild.runs.checkpoint import newest_checkpoint
from hogwild.session import Session
from tests.reliability.watching import events

CELLS = [("weights", "a3c"), ("weights", "ppo"), ("gradients", "a3c"), ("trajectories", "vtrace"), ("barrier", "a3c")]


def spoil_losses(monkeypatch: pytest.MonkeyPatch, which: Any, what: str = "loss") -> None:
    """Make the loss of those updates not a number, or their gradient infinite, whose count `which` picks."""
    whole, count = GradientComputer.compute, [0]

    def compute(self: GradientComputer, *arguments: Any, **named: Any) -> Any:
        count[0] += 1
        inner = self.objective.loss

        def loss(*given: Any) -> Any:
            found = inner(*given)
            if what == "loss":
                return found._replace(total=found.total * float("nan"))
            total = found.total * 1.0
            total.register_hook(lambda gradient: gradient * float("inf"))
            return found._replace(total=total)

        if not which(count[0]):
            return whole(self, *arguments, **named)
        object.__setattr__(self.objective, "loss", loss)
        try:
            return whole(self, *arguments, **named)
        finally:
            object.__delattr__(self.objective, "loss")

    monkeypatch.setattr(GradientComputer, "compute", compute)


@pytest.mark.fault(38)
@pytest.mark.fault(40)
@pytest.mark.parametrize("what", ["loss", "gradient"])
@pytest.mark.parametrize(("exchange", "objective"), CELLS)
def test_an_update_that_is_not_finite_is_left_out_and_counted(
    exchange: str, objective: str, what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spoil_losses(monkeypatch, lambda number: number % 5 == 2, what)
    settings: dict[str, Any] = {"engine": "inline", "workers": 2, "envs": 4, "steps": 4_000, "log_seconds": 0.1}
    run = hogwild.train("CartPole-v1", exchange=exchange, objective=objective, runs=str(tmp_path), **settings)
    assert run.metrics()[-1]["async/skipped"] > 3
    assert {event["kind"] for event in events(run)} == {"not-finite"}
    assert run.status["steps"] >= 4_000
    _, checkpoint, _ = newest_checkpoint(run.folder.checkpoints)
    assert all(np.isfinite(array).all() for array in [*checkpoint.weights.values(), *checkpoint.learner.values()])
    assert recorded_updates(run.folder.inputs)


@pytest.mark.fault(39)
@pytest.mark.parametrize("choice", ["rollback", "stop"])
def test_after_many_in_a_row_it_is_back_to_good_weights_or_the_end(
    choice: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spoil_losses(monkeypatch, lambda number: number > 60)
    settings: dict[str, Any] = {"engine": "inline", "workers": 1, "envs": 4, "steps": 10**6, "log_seconds": 0.1}
    with pytest.raises(NotFinite, match="updates in a row were not finite"):
        hogwild.train("CartPole-v1", when_not_finite=choice, runs=str(tmp_path), name="run", **settings)
    run = hogwild.Run("run", str(tmp_path))
    rollbacks = [event for event in events(run) if event["kind"] == "rolled-back"]
    assert len(rollbacks) == (3 if choice == "rollback" else 0)
    _, checkpoint, _ = newest_checkpoint(run.folder.checkpoints)
    assert all(np.isfinite(array).all() for array in checkpoint.weights.values())


@pytest.mark.fault(41)
def test_weights_that_are_not_finite_are_replaced_by_the_last_good_ones() -> None:
    settings = Settings()
    session = Session(resolve(layer("CartPole-v1", engine="inline")))
    guard, shared = Guard(settings, session.shared), session.shared
    good = shared.weights.clone()
    assert guard.look() == []
    shared.weights[3] = float("inf")
    (event,) = guard.look()
    assert event.kind == "rolled-back"
    assert shared.counter(VERSION) == 1  # workers elsewhere know by it that there are other weights
    torch.testing.assert_close(shared.weights, good)
    shared.weights[3] += 1
    guard.keep()
    shared.weights.fill_(float("nan"))
    guard.keep()  # as after a checkpoint that took long to write: these are none to go back to
    guard.look()
    torch.testing.assert_close(shared.weights[3], good[3] + 1)


@pytest.mark.fault(41)
def test_statistics_that_are_not_finite_are_as_bad_as_such_weights() -> None:
    """An optimizer that divides by infinity learns nothing any more."""
    session = Session(resolve(layer("CartPole-v1", engine="inline")))
    guard, shared = Guard(Settings(), session.shared), session.shared
    shared.statistics.view(-1)[3] = float("inf")
    (event,) = guard.look()
    assert "The optimizer's statistics are not finite any more" in event.words
    assert torch.isfinite(shared.statistics).all()
    shared.statistics.view(-1)[3] = float("inf")
    with pytest.raises(CheckpointError, match="statistics are not finite"):
        Session(session.resolved).load(session.checkpoint())


def test_steps_are_counted_even_if_nothing_is_learned_from_them(monkeypatch: pytest.MonkeyPatch) -> None:
    spoil_losses(monkeypatch, lambda _: True)
    session = Session(resolve(layer("CartPole-v1", engine="inline", workers=1, envs=2, rollout_steps=8)))
    session.engine.start()
    for _ in range(3):
        session.engine.poll(0.0)
    shared = session.shared
    assert shared.counter(STEPS) == 3 * 16
    assert shared.counter(VERSION) == 0
    assert shared.counter(SKIPPED) == shared.counter(SKIPPED_IN_A_ROW) == 3
    session.engine.kill()
