"""Environments that raise, die, hang, answer nonsense or leak."""

import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import hogwild
from hogwild.engines import supervisor
from hogwild.errors import EnvironmentFailed, HogwildError
from hogwild.runs.checkpoint import newest_checkpoint
from hogwild.runs.folder import read_json
from tests.reliability.watching import events, is_at_work, train_until

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
    fault: str, words: str, faulty: Choose, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    env = faulty(fault, after=0, chance=1.0, once=tmp_path / "once", who="hogwild worker 0")
    run = hogwild.train(env, workers=1, envs=2, steps=2_000, runs=str(tmp_path))
    (event,) = events(run)
    monkeypatch.delenv("FAULT_ONCE")
    monkeypatch.setenv("FAULT_WHO", "anybody")
    again = reproduced(event["capsule"])
    assert again.returncode == 0, again.stdout + again.stderr
    assert re.search(words, again.stdout)
    assert again.stdout.endswith("It happened again.\n")


@pytest.mark.fault(23)
def test_an_environment_that_never_resets_ends_the_run(faulty: Choose, tmp_path: Path) -> None:
    env = faulty("reset-raises", after=0)
    with pytest.raises(EnvironmentFailed, match="the wheel came off in reset"):
        hogwild.train(env, workers=1, minutes=1, runs=str(tmp_path))


@pytest.mark.fault(24)
@pytest.mark.fault(25)
@pytest.mark.parametrize(
    ("fault", "words"),
    [("step-segfault", "SIGSEGV"), ("step-vanishes", "exit code 0"), ("step-exits", "SystemExit")],
)
def test_an_environment_that_takes_its_worker_along_costs_a_worker(
    fault: str, words: str, faulty: Choose, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    env = faulty(fault, after=4_000, once=tmp_path / "once")
    run = train_until(lambda run: is_at_work(run, 0, restarts=1), tmp_path, env=env, workers=2, envs=2)
    (event,) = events(run)
    assert words in event["words"]
    assert event["kind"] == "died"
    assert run.status["workers"][0]["restarts"] == 1
    if fault != "step-exits":
        capsule = json.loads(Path(event["capsule"]).read_text())
        assert len(capsule["played"]) == 2
        monkeypatch.delenv("FAULT_ONCE")
        monkeypatch.setenv("FAULT_WHO", "anybody")
        monkeypatch.setenv("FAULT_AFTER", "1")
        assert "it died" in reproduced(event["capsule"]).stdout


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


@pytest.mark.fault(28)
@pytest.mark.fault(29)
@pytest.mark.fault(30)
@pytest.mark.fault(31)
@pytest.mark.parametrize("fault", ["nan", "infinite", "reward", "shape", "short"])
def test_nonsense_never_reaches_the_normaliser_or_the_network(fault: str, faulty: Choose, tmp_path: Path) -> None:
    env = faulty(fault, after=30, chance=0.02)
    run = hogwild.train(
        env, workers=1, envs=4, steps=8_000, normalise="running", normalise_steps=500, runs=str(tmp_path)
    )
    assert {event["kind"] for event in events(run)} == {"episode-lost"}
    _, checkpoint, _ = newest_checkpoint(run.folder.checkpoints)
    assert all(np.isfinite(array).all() for array in [*checkpoint.weights.values(), *checkpoint.learner.values()])
    assert all(np.isfinite(row["loss/policy"]) for row in run.metrics() if "loss/policy" in row)


@pytest.mark.fault(30)
def test_an_observation_outside_its_space_is_said_once_and_nothing_is_lost(
    faulty: Choose, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    env = faulty("outside", after=50, chance=0.05)
    run = hogwild.train(env, workers=1, envs=4, steps=4_000, runs=str(tmp_path))
    (event,) = events(run)
    assert event["kind"] == "outside-space"
    assert re.search(r"left its observation space: observation\[0\] is [0-9.]+, not -4.8 to 4.8", event["words"])
    assert "episode/lost" not in run.metrics()[-1]
    monkeypatch.setenv("FAULT_WHO", "anybody")
    monkeypatch.setenv("FAULT_CHANCE", "1")
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
        env = faulty(fault, after=0, chance=0.05)  # slowly: it is looked at now and then
        run = train_until(
            lambda run: is_at_work(run, 0, restarts=1), tmp_path, env=env, workers=2, envs=1, worker_memory=500.0
        )
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
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


@pytest.mark.fault(36)
def test_an_environment_that_prints_blocks_nobody(
    faulty: Choose, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    env = faulty("prints", after=0)
    run = hogwild.train(env, workers=1, envs=2, steps=4_000, runs=str(tmp_path))
    assert run.status["steps"] >= 4_000
    capfd.readouterr()


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
