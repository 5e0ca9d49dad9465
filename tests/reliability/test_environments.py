"""Environments that raise, die, hang, answer nonsense or leak."""

import json
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import psutil
import pytest

import hogwild
from hogwild import alarm, checking
from hogwild.alarm import HUNG
from hogwild.engines import processes, supervisor
from hogwild.engines.inline import InlineEngine
from hogwild.engines.output import KEPT, Output
from hogwild.engines.processes import ProcessEngine
from hogwild.envs import foreign
from hogwild.envs.blackbox import Played
from hogwild.envs.gymnasium_batch import GymnasiumBatch
from hogwild.errors import EnvironmentFailed, HogwildError, UsageError
from hogwild.faults import pulse
from hogwild.faults.capsule import Capsule, reproduce
from hogwild.report import Report
from hogwild.resolve import layer
from hogwild.runs.checkpoint import newest_checkpoint
from hogwild.runs.folder import RunFolder, read_json
from tests.cells.conftest import forking
from tests.reliability.watching import events, is_at_work, train_until, wait_for

Choose = Callable[..., str]


def reproduced(capsule: str, *flags: str) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-m", "hogwild", "reproduce", capsule, *flags]
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


@pytest.mark.learn
@pytest.mark.fault(22)
def test_an_environment_that_raises_now_and_then_costs_episodes_only(faulty: Choose, tmp_path: Path) -> None:
    env = faulty("step-raises", after=0, chance=1e-3)
    run = train_until(
        lambda run: len(events(run)) > 20 and (read_json(run.status).get("return_mean") or 0.0) > 150,
        tmp_path,
        env=env,
        workers=2,
        reward_scale=0.05,
    )
    assert {event["kind"] for event in events(run)} == {"episode-lost"}
    assert run.metrics()[-1]["episode/lost"] == len(events(run))
    assert len(list((run.path / "capsules").iterdir())) == 3


@pytest.mark.fault(22)
def test_a_fault_that_does_not_follow_from_its_episode_is_not_reproduced(faulty: Choose, tmp_path: Path) -> None:
    env = faulty("step-raises", after=300)
    run = hogwild.train(env, workers=1, envs=2, steps=4_000, runs=str(tmp_path), max_deaths=1)
    event = events(run)[0]
    assert "the wheel came off in step" in event["words"]
    again = reproduced(event["capsule"])
    # In a process of another name nothing is due, and a count that goes on over episodes is not the environment's.
    assert again.returncode == 1
    assert again.stdout.endswith("It did not happen again.\n")


@pytest.mark.fault(22)
@pytest.mark.parametrize(("fault", "words"), [("step-raises", "the wheel came off"), ("nan", "not a number|NaN")])
def test_a_fault_that_follows_from_seed_and_actions_is_reproduced(
    fault: str, words: str, faulty: Choose, tmp_path: Path
) -> None:
    env = faulty(fault, after=0, chance=1.0, once=tmp_path / "once", who="hogwild worker 0")
    run = hogwild.train(env, workers=1, envs=2, steps=2_000, runs=str(tmp_path))
    (event,) = events(run)
    faulty(fault, after=0, who="anybody")
    again = reproduced(event["capsule"])
    assert again.returncode == 0, again.stdout + again.stderr
    assert re.search(words, again.stdout)
    assert again.stdout.endswith("It happened again.\n")
    faulty("short", after=0, who="anybody")
    other = reproduced(event["capsule"])
    assert other.returncode == 1
    assert other.stdout.endswith("Something else happened.\n")


@pytest.mark.fault(22)
def test_a_capsule_whose_environment_is_not_there_is_not_played(faulty: Choose, tmp_path: Path) -> None:
    run = hogwild.train(faulty("step-raises", after=50), workers=1, envs=2, steps=1_000, runs=str(tmp_path))
    capsule = Path(events(run)[0]["capsule"])
    capsule.write_text(capsule.read_text().replace("tests.reliability.fault_env", "tests.reliability.nowhere"))
    again = reproduced(str(capsule))
    assert again.returncode == 3, again.stdout + again.stderr
    assert "nowhere" in again.stderr
    assert "Traceback" not in again.stderr


@pytest.mark.fault(23)
def test_an_environment_that_never_resets_ends_the_run(faulty: Choose, tmp_path: Path) -> None:
    env = faulty("reset-raises", after=0)
    with pytest.raises(EnvironmentFailed, match="the wheel came off in reset"):
        hogwild.train(env, workers=1, minutes=1, runs=str(tmp_path))


@pytest.mark.fault(28)
@pytest.mark.fault(30)
@pytest.mark.parametrize(
    ("fault", "words"), [("first-nan", "has numbers that are infinite or none"), ("first-shape", "has the shape (7,)")]
)
def test_the_first_observation_of_an_environment_that_was_made_anew_is_looked_at_too(
    fault: str, words: str, faulty: Choose
) -> None:
    env = faulty("none")
    batch = GymnasiumBatch(env, lambda: gymnasium.make(env, disable_env_checker=True), 1)
    batch.reset([0])
    faulty(fault, after=0, who="anybody")
    broken: Any = batch.envs[0].unwrapped
    broken.fault, broken.after, broken.who = "nan", 0, "anybody"
    with pytest.raises(
        EnvironmentFailed, match=re.escape(f"failed in reset: ValueError: its first observation {words}")
    ):
        batch.step(np.zeros(1, dtype=np.int64))


def test_an_environment_that_raises_while_it_is_closed_disturbs_nobody(faulty: Choose, tmp_path: Path) -> None:
    for fault in ("close-raises", "close-exits"):
        env = faulty(fault, after=0, who="anybody")
        run = hogwild.train(env, engine="inline", workers=1, envs=2, steps=500, runs=str(tmp_path))
        assert run.status["state"] == "finished"


@pytest.mark.fault(24)
@pytest.mark.fault(25)
@pytest.mark.parametrize(
    ("fault", "words"),
    [("step-segfault", "SIGSEGV"), ("step-vanishes", "exit code 0")],
)
def test_an_environment_that_takes_its_worker_along_costs_a_worker(
    fault: str, words: str, faulty: Choose, tmp_path: Path
) -> None:
    env = faulty(fault, after=4_000, once=tmp_path / "once")
    run = train_until(lambda run: is_at_work(run, 0, restarts=1), tmp_path, env=env, workers=2, envs=2)
    (event,) = events(run)
    assert words in event["words"]
    assert event["kind"] == "died"
    assert run.status["workers"][0]["restarts"] == 1
    capsule = json.loads(Path(event["capsule"]).read_text())
    assert len(capsule["played"]) == 2
    faulty(fault, after=1, who="anybody")
    again = reproduced(event["capsule"])
    assert words in again.stdout
    assert again.stdout.endswith("It happened again.\n"), again.stdout


@pytest.mark.fault(25)
def test_an_environment_that_calls_exit_costs_an_episode(faulty: Choose, tmp_path: Path) -> None:
    env = faulty("step-exits", after=100, once=tmp_path / "once")
    run = hogwild.train(env, workers=1, envs=2, steps=2_000, runs=str(tmp_path))
    (event,) = events(run)
    assert event["kind"] == "episode-lost"
    assert "SystemExit: 3" in event["words"]
    assert run.status["workers"][0]["restarts"] == 0
    faulty("step-exits", after=1, who="anybody")
    assert reproduced(event["capsule"]).stdout.endswith("It happened again.\n")


@pytest.mark.fault(24)
@pytest.mark.usefixtures("spawned")
@pytest.mark.parametrize(
    ("fault", "words"),
    [("step-forks-and-segfaults", "killed by SIGSEGV"), ("step-closes-files", "it closed its pipe and did not end")],
)
def test_a_death_is_seen_though_the_pipe_says_nothing_of_it(
    fault: str, words: str, faulty: Choose, tmp_path: Path
) -> None:
    env = faulty(fault, after=100, once=tmp_path / "once")
    run = train_until(lambda run: is_at_work(run, 0, restarts=1), tmp_path, env=env, workers=2, envs=2)
    (event,) = events(run)
    assert event["kind"] == "died"
    assert words in event["words"]
    wait_for(lambda: not our_family())


def our_family() -> list[psutil.Process]:
    """Who was started by this process, or by whom it started."""

    def environment_of(process: psutil.Process) -> dict[str, str]:
        try:
            return process.environ()
        except psutil.Error:
            return {}

    ours = f"{os.getpid()}-"
    return [p for p in psutil.process_iter() if environment_of(p).get("HOGWILD_FAMILY", "").startswith(ours)]


@pytest.mark.usefixtures("spawned")
def test_an_environment_may_start_processes_which_end_with_its_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "STOP_SECONDS", 200.0)
    began = time.monotonic()
    run = hogwild.train("tests.failing_envs:Parent-v0", workers=1, envs=1, steps=500, runs=str(tmp_path), name="run")
    assert run.status["state"] == "finished"
    assert "started two" in (run.path / "output" / "worker-0.txt").read_text()
    assert time.monotonic() - began < 100.0  # nobody waits for them
    wait_for(lambda: not our_family())


@pytest.mark.fault(26)
@pytest.mark.fault(27)
@pytest.mark.parametrize("fault", ["step-hangs", "reset-hangs"])
def test_an_environment_that_hangs_is_found_and_replaced(fault: str, faulty: Choose, tmp_path: Path) -> None:
    env = faulty(fault, after=100, once=tmp_path / "once")
    run = train_until(lambda run: is_at_work(run, 0, restarts=1), tmp_path, env=env, workers=2, envs=2, env_timeout=2.0)
    (event,) = events(run)
    assert event["kind"] == "hung"
    assert "did not answer within 2 s" in event["words"]
    assert Path(event["capsule"]).exists()
    assert run.status["workers"][0]["restarts"] == 1


@pytest.mark.fault(26)
def test_where_nobody_can_be_killed_a_hanging_step_is_interrupted(faulty: Choose, tmp_path: Path) -> None:
    env = faulty("step-hangs", after=100, once=tmp_path / "once", who="anybody")
    run = hogwild.train(env, engine="inline", workers=2, envs=2, steps=2_000, env_timeout=1.0, runs=str(tmp_path))
    (event,) = events(run)
    assert event["kind"] == "episode-lost"
    assert "TimeoutError: it did not answer within 1 s (--env-timeout)" in event["words"]
    assert run.status["steps"] >= 2_000


@pytest.mark.fault(27)
def test_where_nobody_can_be_killed_one_that_hangs_when_it_is_made_ends_the_run(
    faulty: Choose, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    start = InlineEngine.start

    def hang_from_now_on(engine: InlineEngine) -> None:
        faulty("init-hangs", after=0, who="anybody")
        start(engine)

    monkeypatch.setattr(InlineEngine, "start", hang_from_now_on)
    monkeypatch.setattr(alarm, "BUILDING", 2)
    monkeypatch.setattr(pulse, "BUILDING", 2)
    env = faulty("none", after=0, who="anybody")
    with pytest.raises(
        EnvironmentFailed, match=r"could not be made: TimeoutError: it did not answer within 1 s \(2 times"
    ):
        hogwild.train(env, engine="inline", workers=1, envs=2, steps=2_000, env_timeout=0.5, runs=str(tmp_path))


@pytest.mark.fault(26)
def test_a_thread_that_hangs_ends_the_run_in_order(faulty: Choose, tmp_path: Path) -> None:
    env = faulty("step-hangs", after=100, once=tmp_path / "once", who="anybody")
    began = time.monotonic()
    with pytest.raises(EnvironmentFailed, match=r"Worker \d hangs: its environments did not answer within 2 s"):
        hogwild.train(
            env, engine="threads", workers=2, envs=2, minutes=1, env_timeout=2.0, runs=str(tmp_path), name="run"
        )
    assert time.monotonic() - began < 20
    assert newest_checkpoint(tmp_path / "run" / "checkpoints")[1].state["progress"]["steps"] > 0


@pytest.mark.fault(26)
def test_a_thread_that_hangs_when_the_run_ends_is_left_behind(faulty: Choose, tmp_path: Path) -> None:
    env = faulty("step-hangs", after=100, once=tmp_path / "once", who="anybody")
    run = hogwild.train(env, engine="threads", workers=2, envs=2, steps=1_000, env_timeout=6.0, runs=str(tmp_path))
    assert (tmp_path / "once").exists()
    assert run.status["state"] == "finished"


@pytest.mark.fault(26)
@pytest.mark.fault(27)
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("reset-hangs", r"failed in reset: TimeoutError: it did not answer within 0.5 s \(--env-timeout\)"),
        ("init-hangs", r"could not be made: TimeoutError: it did not answer within 5 s \(10 times --env-timeout\)"),
    ],
)
def test_an_environment_that_hangs_when_it_is_first_looked_at_is_refused(
    fault: str, words: str, faulty: Choose, tmp_path: Path
) -> None:
    with pytest.raises(EnvironmentFailed, match=words):
        hogwild.train(faulty(fault, after=0, who="anybody"), env_timeout=0.5, runs=str(tmp_path))


@pytest.mark.fault(27)
@pytest.mark.parametrize("engine", ["inline", "threads", "processes"])
def test_an_environment_that_does_not_close_is_left_as_it_is(
    engine: str, faulty: Choose, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(foreign, "CLOSE_SECONDS", 0.5)
    env = faulty("close-hangs", after=0, who="anybody")
    began = time.monotonic()
    run = hogwild.train(env, engine=engine, workers=2, envs=2, steps=2_000, runs=str(tmp_path))
    assert run.status["state"] == "finished"
    assert time.monotonic() - began < 30


@pytest.mark.fault(27)
def test_check_does_not_wait_for_an_environment_that_hangs(faulty: Choose, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "HANGS", 0.5)
    env = faulty("step-hangs", after=5, who="anybody")
    remarks = list(checking.check(layer(env)))
    assert remarks[-1].level == "wrong"
    assert "fails in step 5: TimeoutError: it did not come back within" in remarks[-1].what


@pytest.mark.fault(28)
@pytest.mark.fault(29)
@pytest.mark.fault(30)
@pytest.mark.fault(31)
@pytest.mark.parametrize("fault", ["nan", "infinite", "reward", "endless", "shape", "short", "words"])
def test_nonsense_never_reaches_the_normaliser_or_the_network(fault: str, faulty: Choose, tmp_path: Path) -> None:
    env = faulty(fault, after=30, chance=0.02)
    run = hogwild.train(
        env, workers=1, envs=4, steps=8_000, normalise="running", normalise_steps=500, runs=str(tmp_path)
    )
    assert {event["kind"] for event in events(run)} == {"episode-lost"}
    _, checkpoint, _ = newest_checkpoint(run.folder.checkpoints)
    assert all(np.isfinite(array).all() for array in [*checkpoint.weights.values(), *checkpoint.learner.values()])
    assert all(np.isfinite(row["loss/policy"]) for row in run.metrics() if "loss/policy" in row)


@pytest.mark.fault(28)
@pytest.mark.fault(30)
@pytest.mark.fault(31)
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("first-shape", r"failed in reset.*its first observation has the shape \(7,\), not \(4,\) as its space says"),
        ("first-words", "failed in reset.*its first observation holds str.*, not numbers"),
        ("first-nan", "failed in reset.*its first observation has numbers that are infinite or none"),
        ("first-short", r"failed in reset.*it answered ndarray, not a tuple of 2: \(observation, info\)"),
        ("short", r"failed in step.*step answers \(observation, reward, terminated, truncated, info\)"),
    ],
)
def test_an_environment_that_always_answers_wrongly_is_refused_with_what_was_expected(
    fault: str, words: str, faulty: Choose, tmp_path: Path
) -> None:
    with pytest.raises(EnvironmentFailed, match=words):
        hogwild.train(faulty(fault, after=0), workers=1, envs=2, minutes=1, runs=str(tmp_path))


@pytest.mark.fault(30)
def test_an_observation_outside_its_space_is_said_once_and_nothing_is_lost(faulty: Choose, tmp_path: Path) -> None:
    env = faulty("outside", after=50, chance=0.05)
    run = hogwild.train(env, workers=1, envs=4, steps=4_000, runs=str(tmp_path))
    (event,) = events(run)
    assert event["kind"] == "outside-space"
    assert re.search(r"left its observation space: observation\[0\] is [0-9.]+, not -4.8 to 4.8", event["words"])
    assert "episode/lost" not in run.metrics()[-1]
    faulty("outside", after=50, who="anybody")
    assert "left its observation space" in reproduced(event["capsule"]).stdout
    capsule = Path(event["capsule"])
    capsule.write_text(json.dumps(json.loads(capsule.read_text()) | {"what": "it died"}))
    assert "It did not happen again." in reproduced(str(capsule)).stdout  # a crash is something else


@pytest.mark.fault(32)
def test_a_huge_reward_leaves_the_weights_finite(faulty: Choose, tmp_path: Path) -> None:
    env = faulty("huge", after=100, chance=0.01)
    run = hogwild.train(env, workers=1, envs=4, steps=8_000, runs=str(tmp_path))
    _, checkpoint, _ = newest_checkpoint(run.folder.checkpoints)
    assert all(np.isfinite(array).all() for array in checkpoint.weights.values())


@pytest.mark.fault(33)
@pytest.mark.fault(34)
@pytest.mark.parametrize(("fault", "words"), [("leak", "MB of memory"), ("files", "files open")])
def test_a_leaking_environment_has_its_worker_replaced(
    fault: str, words: str, faulty: Choose, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(supervisor, "WEIGH_SECONDS", 0.0)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (800, limits[1]))
    try:
        forkserver._forkserver._stop()  # the next one has these limits
        forking()
        env = faulty(fault, after=0, chance=0.05)  # slowly: it is looked at now and then
        run = train_until(
            lambda run: is_at_work(run, 0, restarts=1), tmp_path, env=env, workers=2, envs=1, worker_memory=500.0
        )
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        forkserver._forkserver._stop()
    found = events(run)
    assert {event["kind"] for event in found} == {"recycled"}
    assert words in found[0]["words"]
    assert run.status["state"] == "finished"


@pytest.mark.fault(35)
def test_one_slow_environment_does_not_slow_the_others(faulty: Choose, tmp_path: Path) -> None:
    env = faulty("slow", after=0)
    run = hogwild.train(env, workers=2, envs=2, minutes=0.12, runs=str(tmp_path))
    done = {worker["rank"]: worker["steps"] for worker in run.status["workers"]}
    assert done[1] > 10 * done[0] > 0


@pytest.mark.fault(21)
@pytest.mark.fault(36)
@pytest.mark.parametrize("reader", ["never reads", "goes away"])
def test_an_environment_that_prints_blocks_nobody(reader: str, faulty: Choose, tmp_path: Path) -> None:
    faulty("prints", after=0)
    words = ["train", "tests.reliability.fault_env:FaultyCartPole-v0", "--workers", "1", "--envs", "2"]
    words += ["--steps", "4000", "--runs", str(tmp_path), "--name", "run", "--env-timeout", "5"]
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen([sys.executable, "-m", "hogwild", *words], stdout=writing, stderr=writing)
        os.close(writing)
        if reader == "goes away":
            os.close(reading)
        assert process.wait(timeout=60) == 0
    finally:
        if reader != "goes away":
            os.close(reading)
    run = RunFolder(tmp_path / "run")
    assert read_json(run.status)["steps"] >= 4_000
    assert events(run) == []
    printed = (run.path / "output" / "worker-0.txt").read_text()
    assert len(printed) == KEPT  # of forty megabytes
    assert printed.startswith("x" * 10_000 + "\n")
    assert "Worker 0 prints: it is kept in" in run.log.read_text()


@pytest.mark.fault(24)
def test_one_that_crashes_at_its_first_look_says_where(faulty: Choose, tmp_path: Path) -> None:
    env = faulty("reset-segfault", after=0, who="MainProcess")
    words = [sys.executable, "-m", "hogwild", "train", env, "--runs", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in done.stderr
    assert "fault_env.py" in done.stderr


@pytest.mark.fault(24)
def test_what_a_worker_printed_last_is_in_the_log_of_its_death(faulty: Choose, tmp_path: Path) -> None:
    env = faulty("step-segfault-with-words", after=200, once=tmp_path / "once")
    run = train_until(lambda run: is_at_work(run, 0, restarts=1), tmp_path, env=env, workers=1, envs=2)
    (event,) = events(run)
    printed, _, where = event["details"].partition("Fatal Python error: Segmentation fault")
    assert printed.endswith("the axle is about to break\n")
    assert "fault_env.py" in where


@pytest.mark.fault(36)
def test_an_environment_that_closes_its_output_costs_nothing(
    faulty: Choose, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    env = faulty("step-speechless", after=100, once=tmp_path / "once")
    poll, listened_to = ProcessEngine.poll, []

    def counted(engine: ProcessEngine, seconds: float) -> list[Report]:
        reports = poll(engine, seconds)
        listened_to.append(len(engine.supervisor.printing()))
        return reports

    monkeypatch.setattr(ProcessEngine, "poll", counted)
    run = hogwild.train(env, workers=1, envs=2, steps=5_000, runs=str(tmp_path))
    assert events(run) == []
    assert listened_to[0] == 1
    assert listened_to[-1] == 0  # a pipe that was closed is always ready: who waits for it turns in circles


@pytest.mark.fault(36)
def test_what_is_printed_is_told_once_also_if_it_was_the_last(tmp_path: Path) -> None:
    for words, told in (("first", ["Worker 0 prints: it is kept in"]), ("second", [])):
        reader, writer = multiprocessing.Pipe(duplex=False)
        output = Output(reader, tmp_path / "output" / "worker-0.txt")
        assert output.notices("Worker 0") == []
        os.write(writer.fileno(), words.encode())
        writer.close()
        assert output.last_words() == words
        assert [notice[: len("Worker 0 prints: it is kept in")] for notice in output.notices("Worker 0")] == told
        assert output.notices("Worker 0") == []
        output.close()
    assert output.path.read_text() == "firstsecond"


@pytest.mark.fault(37)
def test_an_unknown_environment_is_refused_at_once() -> None:
    words = [sys.executable, "-m", "hogwild", "train", "CartPoel-v1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("hogwild: There is no")
    assert "CartPole-v1" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_capsule_that_is_none_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"{}", b'{"format": 1}', b'{"format": 99}', b"[]", b"\xff\xfe", b"[" * 100_000):
        path = tmp_path / "capsule.json"
        path.write_bytes(content)
        from hogwild.faults.capsule import read_capsule

        with pytest.raises(HogwildError):
            read_capsule(path)


@pytest.mark.fault(37)
def test_an_unknown_environment_of_a_module_is_refused_as_a_request(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no environment 'tests\.failing_envs:Bear-v0'"):
        hogwild.train("tests.failing_envs:Bear-v0", runs=str(tmp_path))


@pytest.mark.fault(26)
def test_a_slow_environment_is_not_taken_for_one_that_hangs(tmp_path: Path) -> None:
    played = (Played(0, 1, [0] * 100, True),)
    capsule = Capsule("tests.failing_envs:Slowest-v0", {}, f"it {HUNG} 3 s", "", {}, played)
    (replay,) = reproduce(capsule, timeout=3.0)
    assert replay.after == 100
    assert replay.what == ""
    assert not replay.is_same
