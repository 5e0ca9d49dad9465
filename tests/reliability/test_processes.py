"""Participants that are killed, or stand still."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

import hogwild
from hogwild.engines.processes import ProcessEngine
from hogwild.errors import WorkerDied
from hogwild.resolve import layer, resolve
from hogwild.runs.folder import RunFolder, read_json
from hogwild.session import Session
from tests.reliability.watching import events, is_at_work, kill, pid_of, train_disturbed, wait_for, workers

CELLS = [("weights", "a3c"), ("gradients", "a3c"), ("trajectories", "vtrace"), ("barrier", "ppo")]


def started(**settings: object) -> tuple[Session, ProcessEngine]:
    session = Session(resolve(layer("CartPole-v1", minutes=5.0, envs=2, **settings)))
    engine = session.engine
    assert isinstance(engine, ProcessEngine)
    engine.start()
    wait_for(lambda: engine.poll(0.05) and all(s.steps for s in engine.statuses if s.role == "worker"))
    return session, engine


@pytest.mark.fault(1)
@pytest.mark.parametrize(("exchange", "objective"), CELLS)
def test_a_killed_worker_is_seen_at_once_and_replaced(exchange: str, objective: str) -> None:
    session, engine = started(workers=2, exchange=exchange, objective=objective)
    status, before = engine.statuses[1], engine.statuses[1].pid
    os.kill(status.pid, signal.SIGKILL)
    killed = time.monotonic()
    told = wait_for(lambda: [event for report in engine.poll(0.05) for event in report.events])
    assert time.monotonic() - killed < 1.0
    assert "Worker 1" in told[0].words
    assert "SIGKILL" in told[0].words
    done = status.steps
    wait_for(lambda: engine.poll(0.05) and status.steps > done)
    assert time.monotonic() - killed < 10.0  # five seconds, and what it takes to load torch on a busy machine
    assert status.pid != before
    assert status.restarts == 1
    reported = sum(status.steps for status in engine.statuses)
    last = sum(report.steps for report in engine.stop())
    # What the killed one had counted but not told yet is at most what a worker plays between two reports.
    assert 0 <= session.counts()[0] - reported - last < 20_000


@pytest.mark.learn
@pytest.mark.fault(1)
def test_a_run_learns_while_its_workers_are_killed(tmp_path: Path) -> None:
    def disturb(run: RunFolder) -> None:
        pid_of(run, 0)
        number = 0
        while len(events(run)) < 2 or (read_json(run.status)["return_mean"] or 0.0) < 400:
            assert run.is_live(), "it did not learn"
            found = workers(run)[number % 2]
            if found["state"] == "playing" and psutil.pid_exists(found["pid"]):
                os.kill(found["pid"], signal.SIGKILL)
            number += 1
            time.sleep(2)

    run = train_disturbed(disturb, tmp_path, env="CartPole-v1", workers=2, until_return=501.0, max_deaths=99)
    assert {event["kind"] for event in events(run)} == {"died"}
    assert run.status["state"] == "finished"
    steps = [row["progress/steps"] for row in run.metrics()]
    assert steps == sorted(steps)


@pytest.mark.fault(3)
@pytest.mark.parametrize("lock", ["free", "turns"])
def test_whoever_is_killed_in_an_update_blocks_nobody_and_spoils_nothing(lock: str) -> None:
    session, engine = started(workers=2, lock=lock, rollout_steps=4, max_deaths=50)
    random = np.random.default_rng(0)
    for _ in range(5):
        time.sleep(random.uniform(0, 0.2))
        victim = engine.statuses[random.integers(2)]
        if victim.pid and psutil.pid_exists(victim.pid):
            os.kill(victim.pid, signal.SIGKILL)
        others = sum(status.steps for status in engine.statuses)
        wait_for(lambda others=others: engine.poll(0.02) and sum(s.steps for s in engine.statuses) > others)
    engine.stop()
    assert bool(session.shared.weights.isfinite().all())


@pytest.mark.fault(5)
@pytest.mark.fault(43)
@pytest.mark.parametrize(("exchange", "objective"), [("gradients", "a3c"), ("trajectories", "vtrace")])
def test_a_killed_server_is_replaced_and_the_workers_go_on(exchange: str, objective: str, tmp_path: Path) -> None:
    def disturb(run: RunFolder) -> None:
        kill(run, 2)
        wait_for(lambda: is_at_work(run, 2, restarts=1))
        done = updates(run)
        wait_for(lambda: updates(run) > done)

    def updates(run: RunFolder) -> int:
        return int(read_json(run.status)["updates"])

    run = train_disturbed(
        disturb, tmp_path, env="CartPole-v1", workers=2, exchange=exchange, objective=objective, until_return=501.0
    )
    (event,) = events(run)
    assert event["who"] in ("updater 2", "learner 2")
    assert "perhaps because memory ran out" in event["words"]
    rows = run.metrics()
    assert rows[-1]["progress/updates"] > next(
        r["progress/updates"] for r in rows if r["progress/steps"] >= event["step"]
    )


@pytest.mark.fault(6)
def test_nobody_outlives_the_coordinator(tmp_path: Path) -> None:
    import subprocess
    import sys

    words = ["train", "CartPole-v1", "--workers", "2", "--minutes", "5", "--runs", str(tmp_path), "--name", "run"]
    process = subprocess.Popen([sys.executable, "-m", "hogwild", *words, "--quiet", "--log-seconds", "0.2"])
    run = RunFolder(tmp_path / "run")
    pids = [pid_of(run, rank) for rank in (0, 1)]
    os.kill(pids[1], signal.SIGSTOP)  # one that cannot notice anything
    process.kill()
    process.wait()
    wait_for(lambda: not any(_is_running(pid) for pid in pids), seconds=5.0)


def _is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


@pytest.mark.fault(10)
def test_all_workers_killed_at_once_are_all_replaced(tmp_path: Path) -> None:
    def disturb(run: RunFolder) -> None:
        for pid in [pid_of(run, rank) for rank in range(3)]:
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: all(is_at_work(run, rank, restarts=1) for rank in range(3)))
        last = events(run)[-1]["step"]
        wait_for(lambda: read_json(run.status)["steps"] > last)

    run = train_disturbed(disturb, tmp_path, env="CartPole-v1", workers=3, until_return=501.0)
    assert len(events(run)) == 3
    assert run.metrics()[-1]["progress/steps"] > events(run)[-1]["step"]


@pytest.mark.fault(11)
def test_a_worker_that_always_dies_ends_the_run_with_its_own_words(faulty: object, tmp_path: Path) -> None:
    env = faulty("step-exits", after=4_000)  # type: ignore[operator]
    with pytest.raises(WorkerDied, match=r"Worker 0 failed: SystemExit: 3.*deaths within a minute are too many"):
        hogwild.train(env, workers=2, envs=1, minutes=2, max_deaths=2, runs=str(tmp_path), name="run")
    log = (tmp_path / "run" / "log.txt").read_text()
    assert "fault_env.py" in log
    assert (tmp_path / "run" / "checkpoints").exists()


@pytest.mark.fault(12)
def test_a_worker_that_stands_still_slows_nobody_and_joins_again(tmp_path: Path) -> None:
    def disturb(run: RunFolder) -> None:
        pid = pid_of(run, 0)
        time.sleep(2)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(1)  # what it had sent is in the status by now
        before = [worker["steps"] for worker in workers(run)]
        time.sleep(2)
        after = [worker["steps"] for worker in workers(run)]
        os.kill(pid, signal.SIGCONT)
        steps.extend([before, after])
        wait_for(lambda: workers(run)[0]["steps"] > after[0])

    steps: list[list[int]] = []
    run = train_disturbed(disturb, tmp_path, env="CartPole-v1", workers=2, until_return=501.0)
    assert events(run) == []
    before, after = steps
    assert after[1] > before[1]
    assert run.status["workers"][0]["steps"] > after[0] == before[0]


@pytest.mark.fault(13)
def test_workers_wait_for_a_learner_that_stands_still(tmp_path: Path) -> None:
    seen: dict[str, int] = {}

    def disturb(run: RunFolder) -> None:
        pid = pid_of(run, 1)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(1)
        seen["stopped"] = read(run)
        time.sleep(2)
        seen["later"] = read(run)
        os.kill(pid, signal.SIGCONT)
        wait_for(lambda: read(run) > seen["later"])

    def read(run: RunFolder) -> int:
        return int(read_json(run.status).get("steps", 0))

    run = train_disturbed(
        disturb, tmp_path, env="CartPole-v1", workers=1, exchange="trajectories", objective="vtrace", until_return=501.0
    )
    assert seen["later"] - seen["stopped"] < 2_000  # what fits into the slots
    assert run.metrics()[-1]["progress/steps"] > seen["later"]
