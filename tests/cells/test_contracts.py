"""What every valid combination of objective, exchange and engine promises."""

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch

import hogwild
from hogwild.engines.processes import ProcessEngine
from hogwild.errors import WorkerDied
from hogwild.replay import replay
from hogwild.report import Report
from hogwild.session import Session
from tests.cells.cells import (
    EXCHANGES,
    Cell,
    every_cell,
    every_inline_cell,
    every_live_cell,
    make_session,
)

PATIENCE = 90.0
pytestmark = pytest.mark.usefixtures("contract")


@contextmanager
def running(session: Session) -> Iterator[list[Report]]:
    """Everybody at work; what they report is gathered in the list."""
    reports: list[Report] = []
    session.engine.start()
    try:
        yield reports
    finally:
        session.engine.kill()


def work_until(session: Session, reports: list[Report], updates: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while session.counts()[1] < updates:
        reports += session.engine.poll(0.05)
        assert time.monotonic() < deadline, f"{session.counts()[1]} updates after {PATIENCE:.0f} s"


def digest(session: Session) -> str:
    return hashlib.sha256(session.shared.weights.cpu().numpy().tobytes()).hexdigest()


@every_cell
def test_updates_move_every_weight(cell: Cell) -> None:
    session = make_session(cell, normalise_advantage=False)
    before = {name: view.clone() for name, view in session.layout.views(session.shared.weights)}
    with running(session) as reports:
        work_until(session, reports, 4)
        session.engine.stop()
    for name, view in session.layout.views(session.shared.weights):
        moved = (view != before[name]).float().mean().item()
        assert moved > 0.9, name  # a few come back to where they were, or move by less than they can show
    assert torch.isfinite(session.shared.weights).all()


@every_cell
def test_steps_updates_and_lags_are_counted_exactly(cell: Cell) -> None:
    session = make_session(cell)
    with running(session) as reports:
        work_until(session, reports, 12)
        reports += session.engine.stop()
    steps, updates = session.counts()
    played = sum(report.steps for report in reports)
    # A rollout that was handed over but whose worker was stopped before it could say so is counted, not reported.
    assert played <= steps <= played + (0 if cell.engine == "inline" else 2 * 8)
    said = sum(report.counts.get("async/lag", 0) for report in reports)
    if cell.engine == "inline":
        assert said == updates * (2 if cell.exchange == "barrier" else 1)
    lags = [report.largest["async/lag"] for report in reports if "async/lag" in report.largest]
    assert lags
    assert all(0 <= lag <= updates for lag in lags)
    ages = [report.largest["async/age"] for report in reports if "async/age" in report.largest]
    assert ages
    assert all(0 <= age < PATIENCE for age in ages)
    assert sum(sum(report.lags.values()) for report in reports) == said


@every_inline_cell
def test_the_same_seed_gives_the_same_weights(cell: Cell) -> None:
    digests = []
    for seed in (0, 0, 1):
        session = make_session(cell, seed=seed, minibatches=2, memory="gru", memory_size=8)
        with running(session) as reports:
            work_until(session, reports, 12)
        digests.append(digest(session))
    assert digests[0] == digests[1] != digests[2]


@every_inline_cell
@pytest.mark.parametrize("seed", range(3))
def test_a_resumed_run_is_bit_for_bit_the_one_that_was_never_stopped(cell: Cell, seed: int, tmp_path: Path) -> None:
    settings: dict[str, Any] = {**cell.settings(), "workers": 3, "envs": 2, "rollout_steps": [4, 6], "minibatches": 2}
    settings["seed"] = seed
    if cell.exchange == "trajectories":
        settings |= {"batch_rollouts": 2}  # of three in a round: one is on its way when a checkpoint is taken
    if cell.exchange == "gradients":
        settings |= {"accumulate": 2, "pull_every": 3}
    kept = []
    for name, first in (("whole", 480), ("resumed", 240)):
        run = hogwild.train("CartPole-v1", runs=str(tmp_path), name=name, steps=first, schedule_steps=480, **settings)
        if first < 480:
            run.resume(steps=480)
        from hogwild.runs.find import find_checkpoint

        checkpoint = find_checkpoint(run.folder)[1]
        kept.append(checkpoint.weights | checkpoint.learner)
    for name in kept[0]:
        np.testing.assert_array_equal(kept[0][name], kept[1][name], err_msg=name)


@every_cell
def test_a_resumed_run_continues_counters_and_schedules(cell: Cell, tmp_path: Path) -> None:
    schedule = {"learning_rate": 1e-3, "learning_rate_final": 0.0, "schedule_steps": 1200, "log_seconds": 0.05}
    small = {"workers": 2, "envs": 4, "rollout_steps": 8}
    run = hogwild.train("CartPole-v1", runs=str(tmp_path), steps=600, **cell.settings(), **small, **schedule)
    before = run.status
    run.resume(steps=1150)
    after = run.status
    assert after["steps"] >= 1150 > before["steps"] >= 600
    assert after["updates"] > before["updates"]
    rates = [row["optimizer/learning_rate"] for row in run.metrics() if "optimizer/learning_rate" in row]
    assert min(rates) < 0.45e-3 < 0.6e-3 < max(rates)  # rows are means, and 600 of 1,200 steps were made before
    steps = [row["progress/steps"] for row in run.metrics()]
    assert steps == sorted(steps)


@every_live_cell
def test_a_recorded_run_is_repeated_bit_for_bit(cell: Cell, tmp_path: Path) -> None:
    settings: dict[str, Any] = {**cell.settings(), "lock": "turns", "record_schedule": True, "minibatches": 2}
    run = hogwild.train("CartPole-v1", runs=str(tmp_path), workers=2, envs=2, rollout_steps=5, steps=400, **settings)
    result = replay(run.folder)
    assert result.differs_at is None
    assert result.updates == run.status["updates"] > 10


@every_live_cell
def test_stopping_leaves_nothing_behind(cell: Cell) -> None:
    shared_before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    threads_before = set(threading.enumerate())
    session = make_session(cell)
    with running(session) as reports:
        work_until(session, reports, 3)
        pids = [status.pid for status in session.engine.statuses if status.pid]
        session.engine.stop()
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert not {t for t in set(threading.enumerate()) - threads_before if t.is_alive()}
    if shared_before:
        assert not {name for name in set(os.listdir("/dev/shm")) - shared_before if "torch" in name}


@every_live_cell
def test_one_that_dies_is_noticed(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    session = make_session(cell, max_deaths=1)
    with running(session) as reports:
        work_until(session, reports, 3)
        for status in session.engine.statuses[-1:]:  # the updater or learner, where there is one
            died = time.monotonic()
            message = "struck by lightning"
            if isinstance(session.engine, ProcessEngine):
                psutil.Process(status.pid).kill()
                message = rf"{status.role.capitalize()} {status.rank} \(pid {status.pid}\) died: killed by SIGKILL"
            else:
                monkeypatch.setattr("hogwild.learning.GradientComputer.minibatches", _fail)
                monkeypatch.setattr("hogwild.exchanges.weights.WeightsLink.push", _fail)
            with pytest.raises(WorkerDied, match=message):
                poll_until(session, died + 10)


def poll_until(session: Session, deadline: float) -> None:
    while time.monotonic() < deadline:
        session.engine.poll(0.05)


def _fail(*_: object) -> None:
    raise RuntimeError("struck by lightning")


@pytest.mark.parametrize("cell", [Cell("a3c", exchange, "inline") for exchange in EXCHANGES], ids=str)
def test_a_list_gives_every_worker_its_own_value(cell: Cell) -> None:
    entropies = {} if cell.exchange == "trajectories" else {"entropy": [0.01, 0.02]}  # one learner has one
    session = make_session(cell, envs=[1, 3], rollout_steps=[4, 6], **entropies)
    with running(session) as reports:
        work_until(session, reports, 6)
        if entropies:
            assert [worker.gradients.objective.terms.entropy for worker in session.engine.workers] == [0.01, 0.02]
    by_worker = {report.worker: report.steps for report in reports if report.worker < 2}
    assert by_worker == {0: 4, 1: 18}
