"""Participants that are killed, or stand still."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

import hogwild
from hogwild.engines import member, supervisor
from hogwild.engines.engine import WorkerStatus
from hogwild.engines.holding import holder_of, is_stopped
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
    wait_for(lambda: (engine.poll(0.05), status.pid != before)[1])
    assert time.monotonic() - killed < 5.0
    done = status.steps
    wait_for(lambda: engine.poll(0.05) and status.steps > done)
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
        while len(events(run)) < 2 or (read_json(run.status)["return_mean"] or 0.0) < 450:
            assert run.is_live(), "it did not learn"
            found = workers(run)[number % 2]
            if found["state"] == "playing" and psutil.pid_exists(found["pid"]):
                os.kill(found["pid"], signal.SIGKILL)
            number += 1
            time.sleep(5)

    run = train_disturbed(disturb, tmp_path, env="CartPole-v1", workers=2, until_return=501.0, max_deaths=99)
    assert {event["kind"] for event in events(run)} == {"died"}
    assert run.status["state"] == "finished"
    steps = [row["progress/steps"] for row in run.metrics()]
    assert steps == sorted(steps)


def kill_one(engine: ProcessEngine, victim: WorkerStatus, survivor: WorkerStatus, delay: float) -> None:
    """Kill one of two while both play, and see that the other goes on."""
    wait_for(lambda: engine.poll(0.02) and victim.state == survivor.state == "playing")
    end = time.monotonic() + delay
    while time.monotonic() < end:
        engine.poll(0.005)
    os.kill(victim.pid, signal.SIGKILL)
    done = survivor.steps
    wait_for(lambda: engine.poll(0.02) and survivor.steps > done)


@pytest.mark.fault(3)
@pytest.mark.parametrize("lock", ["free", "turns"])
def test_whoever_is_killed_in_an_update_blocks_nobody_and_spoils_nothing(
    lock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(member, "LONGEST_PAUSE", 0.0)
    session, engine = started(workers=2, lock=lock, rollout_steps=1, max_deaths=1000)
    random = np.random.default_rng(0)
    for number in range(50):
        kill_one(engine, engine.statuses[number % 2], engine.statuses[1 - number % 2], random.uniform(0, 0.05))
    engine.stop()
    assert sum(status.restarts for status in engine.statuses) >= 49
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
    stopped = pid_of(run, 1)
    pids = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    assert {pid_of(run, 0), stopped} <= set(pids)
    os.kill(stopped, signal.SIGSTOP)  # one that cannot notice anything
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
    env = faulty("step-panics", after=4_000)  # type: ignore[operator]
    with pytest.raises(
        WorkerDied, match=r"Worker 0 failed: BaseException: the road ends.*deaths within a minute are too many"
    ):
        hogwild.train(env, workers=2, envs=1, minutes=2, max_deaths=2, runs=str(tmp_path), name="run")
    log = (tmp_path / "run" / "log.txt").read_text()
    assert "fault_env.py" in log
    assert (tmp_path / "run" / "checkpoints").exists()


@pytest.mark.fault(12)
def test_a_worker_that_stands_still_slows_nobody_and_joins_again(tmp_path: Path) -> None:
    def disturb(run: RunFolder) -> None:
        pid = pid_of(run, 0)
        pid_of(run, 1)
        for _ in range(3):  # others use the same cores: speeds are compared until they compare as they should
            time.sleep(1)
            undisturbed = speeds(run)
            os.kill(pid, signal.SIGSTOP)
            time.sleep(1)  # what it had sent is in the status by now
            alone = speeds(run)
            os.kill(pid, signal.SIGCONT)
            seen.append((undisturbed, alone))
            if alone[1] > 0.9 * undisturbed[1]:
                break
        done = workers(run)[0]["steps"]
        wait_for(lambda: workers(run)[0]["steps"] > done)

    def speeds(run: RunFolder, seconds: float = 2.0) -> list[float]:
        before = [worker["steps"] for worker in workers(run)]
        time.sleep(seconds)
        return [(worker["steps"] - b) / seconds for worker, b in zip(workers(run), before, strict=True)]

    seen: list[tuple[list[float], list[float]]] = []
    run = train_disturbed(disturb, tmp_path, env="CartPole-v1", workers=2, until_return=501.0)
    assert events(run) == []
    undisturbed, alone = seen[-1]
    assert undisturbed[0] > alone[0] == 0.0
    assert alone[1] > 0.9 * undisturbed[1]


@pytest.mark.fault(12)
def test_who_is_stopped_with_the_lock_in_hand_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "HOLD_SECONDS", 0.5)
    _, engine = started(workers=2, lock="turns", rollout_steps=1)
    victim, other = engine.statuses
    assert engine.lock is not None
    end = time.monotonic() + 60
    while time.monotonic() < end:  # until it is met in an update
        os.kill(victim.pid, signal.SIGSTOP)
        wait_for(lambda: is_stopped(victim.pid))
        if holder_of(engine.lock) == victim.pid:
            break
        os.kill(victim.pid, signal.SIGCONT)
        engine.poll(0.01)
    assert holder_of(engine.lock) == victim.pid
    told = wait_for(lambda: [event for report in engine.poll(0.05) for event in report.events])
    assert "it was stopped, and the others waited for what it held" in told[0].words
    done = other.steps
    wait_for(lambda: engine.poll(0.05) and other.steps > done and victim.state == "playing")
    engine.stop()


@pytest.mark.fault(13)
def test_workers_wait_for_a_learner_that_stands_still(tmp_path: Path) -> None:
    seen: dict[str, int] = {}

    def looked(run: RunFolder) -> bool:
        pid, worker = pid_of(run, 1), psutil.Process(pid_of(run, 0))
        os.kill(pid, signal.SIGSTOP)
        time.sleep(1)
        seen["stopped"], seen["memory"] = read(run), worker.memory_info().rss
        time.sleep(2)
        seen["later"], seen["memory later"] = read(run), worker.memory_info().rss
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:  # it was stopped with the lock in hand, and so replaced
            wait_for(lambda: pid_of(run, 1) != pid)
            return False
        return True

    def disturb(run: RunFolder) -> None:
        wait_for(lambda: looked(run))
        wait_for(lambda: read(run) > seen["later"])

    def read(run: RunFolder) -> int:
        return int(read_json(run.status).get("steps", 0))

    run = train_disturbed(
        disturb, tmp_path, env="CartPole-v1", workers=1, exchange="trajectories", objective="vtrace", until_return=501.0
    )
    assert seen["later"] - seen["stopped"] < 2_000  # what fits into the slots
    assert seen["memory later"] - seen["memory"] < 2e6
    assert run.metrics()[-1]["progress/steps"] > seen["later"]
