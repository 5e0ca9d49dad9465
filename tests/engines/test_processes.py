"""The process engine: what it starts it stops, and a death is an error with a name."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

import hogwild
from hogwild.engines.processes import ProcessEngine
from hogwild.errors import WorkerDied
from hogwild.resolve import layer, resolve
from hogwild.session import Session
from tests.engines.drawing_env import DRAWN


def started(**changes: Any) -> tuple[Session, ProcessEngine]:
    settings = {"workers": 2, "envs": 2, "minutes": 5.0, **changes}
    session = Session(resolve(layer("CartPole-v1", **settings)))
    engine = session.engine
    assert isinstance(engine, ProcessEngine)
    engine.start()
    deadline = time.monotonic() + 60
    while any(status.steps == 0 for status in engine.statuses):
        engine.poll(0.1)
        assert time.monotonic() < deadline
    return session, engine


def poll_for(engine: ProcessEngine, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        engine.poll(0.1)


def test_workers_are_told_apart_and_seen_playing() -> None:
    _, engine = started()
    assert [status.state for status in engine.statuses] == ["playing", "playing"]
    assert len({status.pid for status in engine.statuses} | {os.getpid()}) == 3
    engine.stop()


def test_stopping_leaves_no_process_and_no_shared_memory() -> None:
    before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    _, engine = started()
    pids = [status.pid for status in engine.statuses]
    engine.stop()
    assert not any(psutil.pid_exists(pid) for pid in pids)
    if before:
        assert not {name for name in set(os.listdir("/dev/shm")) - before if "torch" in name}


def test_every_step_that_was_counted_was_reported() -> None:
    session, engine = started()
    reported = sum(status.steps for status in engine.statuses)
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        reported += sum(report.steps for report in engine.poll(0.1))
    reported += sum(report.steps for report in engine.stop())
    assert reported == session.counts()[0]


def test_a_killed_worker_is_noticed_within_a_second_and_named_where_nobody_may_die() -> None:
    _, engine = started(max_deaths=1)
    os.kill(engine.statuses[1].pid, signal.SIGKILL)
    killed = time.monotonic()
    with pytest.raises(WorkerDied, match=r"Worker 1 \(pid \d+\) died: killed by SIGKILL"):
        poll_for(engine, seconds=10)
    assert time.monotonic() - killed < 1.0
    engine.kill()


def test_workers_have_one_thread_for_mathematics_and_differ_in_their_seeds(tmp_path: Path) -> None:
    run = hogwild.train("CartPole-v1", workers=2, envs=2, steps=2000, runs=str(tmp_path))
    import json

    seeds = json.loads(run.folder.meta.read_text())["seeds"]
    every = [seed for worker in seeds.values() for seed in worker]
    assert len(every) == len(set(every)) == 6


SCRIPT = """
import gymnasium, hogwild
from gymnasium.envs.classic_control import CartPoleEnv
gymnasium.register("Mine-v0", CartPoleEnv, max_episode_steps=500)
{guard}
    print(hogwild.train("{env}", steps=2000, workers=2, runs={runs!r}, name="run").status["state"])
"""


def of_script(folder: Path, guard: str, is_file: bool = True) -> "subprocess.CompletedProcess[str]":
    script = SCRIPT.format(guard=guard, runs=str(folder), env="Mine-v0" if is_file else "CartPole-v1")
    (folder / "script.py").write_text(script)
    words = [sys.executable, str(folder / "script.py") if is_file else "-"]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, input="" if is_file else script)


def test_a_script_may_register_its_environment_and_train_in_it(tmp_path: Path) -> None:
    done = of_script(tmp_path, 'if __name__ == "__main__":')
    assert (done.stdout, done.stderr) == ("finished\n", "")


def test_a_script_that_has_no_file_can_train(tmp_path: Path) -> None:
    done = of_script(tmp_path, "if True:", is_file=False)
    assert (done.stdout, done.stderr) == ("finished\n", "")


def test_a_script_without_a_guard_is_told_so_at_once(tmp_path: Path) -> None:
    done = of_script(tmp_path, "if True:")
    assert done.returncode == 1
    assert done.stderr.endswith('Put its call of hogwild.train under `if __name__ == "__main__":`.\n')
    assert done.stderr.count("Traceback") == 1


@pytest.mark.fault(63)
@pytest.mark.parametrize("lock", ["free", "turns"])
def test_a_resumed_run_goes_on_counting_where_it_stopped(lock: str, tmp_path: Path) -> None:
    run = hogwild.train("CartPole-v1", workers=2, envs=4, steps=4000, lock=lock, log_seconds=0.2, runs=str(tmp_path))
    first = run.status
    run.resume(steps=9000)
    second = run.status
    assert second["steps"] >= 9000 > first["steps"] >= 4000
    assert second["updates"] > first["updates"]
    assert second["episodes"] > first["episodes"]
    assert second["seconds"] > first["seconds"]
    steps = [row["progress/steps"] for row in run.metrics()]
    assert steps == sorted(steps)
    episodes = run.episodes()
    assert len(episodes) == second["episodes"]
    assert max(e["step"] for e in episodes) <= second["steps"]


def test_per_worker_lists_reach_the_workers() -> None:
    """Three workers with 16, 32 and 64 steps a rollout and 2 environments: steps come in these multiples."""
    _, engine = started(workers=3, rollout_steps=[16, 32, 64], envs=2)
    reports = [report for _ in range(30) for report in engine.poll(0.1)]
    engine.stop()
    for report in reports:
        length = [16, 32, 64][report.worker] * 2
        assert report.steps == report.counts["async/lag"] * length


def drawn_by_workers(folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> list[str]:
    """What each of two workers drew from the random states that all of its process shares."""
    folder.mkdir()
    few: dict[str, Any] = {"workers": 2, "envs": 1, "steps": 64, "runs": str(folder / "runs")}
    env = "tests.engines.drawing_env:Drawing-v0"
    resolve(layer(env, **few))  # builds one here, which is not to be written down
    monkeypatch.setenv(DRAWN, str(folder))
    hogwild.train(env, **few, **settings)
    monkeypatch.delenv(DRAWN)
    return [path.read_text() for path in folder.iterdir() if path.is_file() and path.name != str(os.getpid())]


def test_no_two_workers_draw_alike_and_a_seed_repeats_what_they_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, again, other = (
        drawn_by_workers(tmp_path / name, monkeypatch, seed=seed)
        for name, seed in (("first", 0), ("again", 0), ("other", 1))
    )
    assert len(set(first)) == len(first) == 2
    assert set(first) == set(again)
    assert not set(first) & set(other)
