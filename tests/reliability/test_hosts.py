"""Little shared memory, few files, a clock that jumps, a terminal that goes away; and runs that are resumed."""

import hashlib
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

import hogwild
from hogwild.errors import CheckpointError
from hogwild.runs import checkpoint as checkpoints
from hogwild.runs.checkpoint import list_checkpoints, newest_checkpoint
from hogwild.runs.folder import RunFolder, read_json
from tests.reliability.test_disks import in_small_disk
from tests.reliability.watching import pid_of, train_disturbed, train_until, wait_for

ROOT = Path(__file__).parents[2]


@pytest.mark.fault(68)
def test_little_shared_memory_is_enough(tmp_path: Path) -> None:
    pictures = "--exchange trajectories --objective vtrace --envs 16 --image-size 84 --frame-stack 4 --slots 4"
    place = f"--steps 1500 --runs {tmp_path} --name run --quiet"
    train = f"{sys.executable} -m hogwild train pong --workers 2 {pictures} {place}"
    done = in_small_disk(Path("/dev/shm"), "1m", f"{train}; echo code $?; ls /dev/shm")
    assert done.stdout == "code 0\n", done.stdout + done.stderr


@pytest.mark.fault(69)
@pytest.mark.parametrize("files", [24, 64])
def test_few_files_are_enough_or_refused_in_words(files: int, tmp_path: Path) -> None:
    words = ["train", "CartPole-v1", "--workers", "2", "--steps", "2000", "--runs", str(tmp_path), "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "hogwild", *words],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
    )
    if done.returncode:
        assert done.stderr.startswith("hogwild: ")
        assert "Traceback" not in done.stderr
        assert "ulimit -n" in done.stderr
    else:
        assert files == 64


@pytest.mark.fault(70)
@pytest.mark.usefixtures("spawned")
def test_a_machine_that_starts_no_more_processes_is_said_and_nobody_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, count = SpawnProcess.start, [0]

    def start(self: SpawnProcess) -> None:
        count[0] += 1
        if count[0] > 1:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        whole(self)

    monkeypatch.setattr(SpawnProcess, "start", start)
    with pytest.raises(hogwild.HogwildError, match="Cannot start a process for worker 1: Resource temporarily"):
        hogwild.train("CartPole-v1", workers=2, minutes=1, runs=str(tmp_path))


@pytest.mark.fault(18)
def test_ctrl_c_during_a_save_lets_it_finish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, done = checkpoints.write_whole, []

    def interrupted(path: Path, data: bytes) -> None:
        if not done:
            os.kill(os.getpid(), signal.SIGINT)
        done.append(path.name)
        whole(path, data)

    monkeypatch.setattr(checkpoints, "write_whole", interrupted)
    run = hogwild.train("CartPole-v1", workers=1, minutes=1, checkpoint_seconds=0.5, runs=str(tmp_path))
    assert run.status["state"] == "interrupted"
    assert done[:5] == [
        "weights.safetensors",
        "learner.safetensors",
        "state.safetensors",
        "state.json",
        "manifest.json",
    ]
    assert newest_checkpoint(run.folder.checkpoints)[2] == []


@pytest.mark.fault(74)
def test_nothing_grows_while_a_run_trains(tmp_path: Path) -> None:
    seen: list[tuple[float, int]] = []

    def look(run: RunFolder) -> None:
        worker = psutil.Process(pid_of(run, 0))
        for seconds in (4, 6):  # first until everything is loaded
            time.sleep(seconds)
            seen.append((worker.memory_info().rss / 1e6, worker.num_fds()))

    train_disturbed(look, tmp_path, env="CartPole-v1", workers=1, until_return=501.0)
    (memory, files), (later, files_later) = seen
    assert later - memory < 10
    assert files_later == files


@pytest.mark.fault(72)
def test_a_clock_that_jumps_disturbs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, jumps = time.time, iter([3600.0, -3600.0] * 100_000)
    monkeypatch.setattr(time, "time", lambda: real() + next(jumps))
    run = hogwild.train("CartPole-v1", workers=2, minutes=0.1, log_seconds=0.2, runs=str(tmp_path))
    seconds = [row["progress/seconds"] for row in run.metrics()]
    assert seconds == sorted(seconds)
    assert 5 < run.status["seconds"] < 30


@pytest.mark.fault(20)
@pytest.mark.parametrize("nohup", [False, True])
def test_a_closed_terminal_ends_training_in_order_unless_it_was_told_to_stay(nohup: bool, tmp_path: Path) -> None:
    words = ["train", "CartPole-v1", "--workers", "1", "--minutes", "0.1", "--runs", str(tmp_path), "--name", "run"]
    process = subprocess.Popen(
        [sys.executable, "-m", "hogwild", *words, "--quiet", "--log-seconds", "0.2"],
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN if nohup else signal.SIG_DFL),
    )
    run = RunFolder(tmp_path / "run")
    pid_of(run, 0)
    os.killpg(process.pid, signal.SIGHUP)
    code = process.wait(timeout=60)
    assert code == (0 if nohup else 128 + signal.SIGHUP)
    assert json.loads(run.status.read_text())["state"] == ("finished" if nohup else "interrupted")
    newest_checkpoint(run.checkpoints)


@pytest.mark.fault(21)
def test_a_reader_that_goes_away_ends_nothing(tmp_path: Path) -> None:
    train = f"{sys.executable} -m hogwild train CartPole-v1 --workers 1 --steps 30000 --runs {tmp_path} --name run"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {train} | head -1; echo code $?"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )
    assert done.stdout.startswith("machine")
    assert done.stdout.endswith("code 0\n")
    assert done.stderr == ""
    assert json.loads((tmp_path / "run" / "status.json").read_text())["state"] == "finished"


def _train_for_ever(runs: str) -> None:
    settings: dict[str, Any] = {"engine": "inline", "workers": 1, "steps": 10_000_000, "until_return": 501.0}
    hogwild.train("CartPole-v1", runs=runs, name="run", checkpoint_seconds=0.3, log_seconds=0.2, **settings)


def _resume(runs: str) -> None:
    hogwild.Run("run", runs).resume()


@pytest.mark.fault(67)
@pytest.mark.timeout(900)
def test_a_run_that_is_killed_again_and_again_keeps_what_it_had(tmp_path: Path) -> None:
    run, kept, random = RunFolder(tmp_path / "run"), [0], np.random.default_rng(0)
    for number in range(20):
        work = _resume if number else _train_for_ever
        process = multiprocessing.get_context("forkserver").Process(target=work, args=(str(tmp_path),))
        process.start()
        wait_for(lambda: _newest_step(run) > kept[-1])
        time.sleep(random.uniform(0, 0.3))
        process.kill()
        process.join()
        kept.append(_newest_step(run))
    assert kept == sorted(set(kept))


def _newest_step(run: RunFolder) -> int:
    try:
        return int(newest_checkpoint(run.checkpoints)[1].state["progress"]["steps"])
    except Exception:
        return 0


@pytest.mark.fault(63)
def test_schedules_optimizer_normaliser_and_best_result_go_on_where_they_were(tmp_path: Path) -> None:
    run = train_until(
        lambda run: read_json(run.status).get("steps", 0) > 20_000,
        tmp_path,
        **{"env": "CartPole-v1", "workers": 2, "steps": 100_000, "optimizer": "adam", "entropy_final": 0.0},
        **{"normalise": "running", "normalise_steps": 500},
    )
    before = newest_checkpoint(run.folder.checkpoints)[1]
    assert 20_000 < before.state["progress"]["steps"] < 80_000
    run.resume(steps=100_000)
    after = newest_checkpoint(run.folder.checkpoints)[1]
    for row in [row for row in run.metrics() if "policy/entropy_coef" in row]:  # means over the time since the last row
        wanted = 0.01 * (1 - row["progress/steps"] / 100_000)
        assert row["policy/entropy_coef"] == pytest.approx(wanted, abs=2e-3), row["progress/steps"]
    updates = [saved.state["progress"]["updates"] for saved in (before, after)]
    assert [int(saved.learner["counts"][0]) for saved in (before, after)] == updates  # of Adam
    assert after.learner["input_count"] > before.learner["input_count"] > 20_000 - 1  # of the normaliser
    assert after.state["best_mean"] >= before.state["best_mean"]
    assert after.state["progress"]["seconds"] > before.state["progress"]["seconds"]


@pytest.mark.fault(62)
@pytest.mark.parametrize(
    ("env", "is_same"),
    [("CartPole-v1", True), ("pong", True), ("LunarLander-v3", True), ("tests.failing_envs:Forgetful-v0", False)],
)
def test_whether_a_resumed_run_is_the_run_that_was_never_stopped_is_said(env: str, is_same: bool) -> None:
    steps = ["--steps", "1500" if env == "pong" else "12000"]
    done = subprocess.run(
        [sys.executable, "-m", "hogwild", "verify-resume", env, "--json", *steps],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=ROOT,
    )
    assert done.returncode == int(not is_same), done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["is_same"] is is_same
    assert [each["component"] for each in found["components"]][-1] == "weights"


@pytest.mark.fault(59)
@pytest.mark.fault(65)
def test_a_resume_with_other_settings_takes_what_fits_and_refuses_what_does_not(tmp_path: Path) -> None:
    few: dict[str, Any] = {"engine": "inline", "workers": 1, "envs": 2}
    run = hogwild.train("CartPole-v1", steps=500, runs=str(tmp_path), **few)
    run.resume(steps=1000, learning_rate=1e-4, discount=0.9)
    assert run.settings.optimizer.learning_rate == (1e-4,)
    log = run.folder.log.read_text()
    assert "Not as in its checkpoint: discount 0.99 → 0.9, learning_rate 0.003 → 0.0001." in log
    with pytest.raises(hogwild.HogwildError, match=r"does not fit this policy: .*weight"):
        run.resume(steps=1500, encoder_size=32)
    config = run.folder.config
    config.write_text(config.read_text().replace('"CartPole-v1"', '"Acrobot-v1"'))
    with pytest.raises(
        hogwild.HogwildError, match=r"was trained in 'CartPole-v1', and its config.toml says 'Acrobot-v1'"
    ):
        run.resume(steps=1500)


def reseal(path: Path, name: str, content: bytes) -> None:
    """Put something else into a checkpoint, and make its manifest say that it is what was written."""
    (path / name).write_bytes(content)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["files"][name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest["settings"] = None
    (path / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.fault(55)
def test_a_checkpoint_that_was_made_to_look_whole_is_refused_by_name(tmp_path: Path) -> None:
    few: dict[str, Any] = {"engine": "inline", "workers": 1, "envs": 2}
    run = hogwild.train("CartPole-v1", steps=500, runs=str(tmp_path), **few)
    path = list_checkpoints(run.folder.checkpoints)[-1]
    whole = {file.name: file.read_bytes() for file in path.iterdir()}
    state = json.loads(whole["state.json"])
    spoiled: list[tuple[str, bytes]] = [
        ("state.json", json.dumps(content).encode())
        for content in (
            [],
            {},
            "x",
            {**state, "progress": 5},
            {**state, "progress": {**state["progress"], "steps": "many"}},
            {**state, "progress": {**state["progress"], "recent": [1]}},
            {**state, "incarnation": "x"},
            {**state, "best_mean": []},
            {**state, "settings": 3},
            {**state, "carried": 7},
            {**state, "engine": {**state["engine"], "workers": [7]}},
            {**state, "engine": {**state["engine"], "order": 3}},
        )
    ]
    weights = load_arrays(whole["weights.safetensors"])
    spoiled += [
        ("learner.safetensors", save_arrays({})),
        ("weights.safetensors", save_arrays({name: array * np.nan for name, array in weights.items()})),
    ]
    for name, content in spoiled:
        for file, bytes_ in whole.items():
            (path / file).write_bytes(bytes_)
        reseal(path, name, content)
        with pytest.raises(CheckpointError):
            run.resume(steps=1500)
        if b'"progress": 5' in content or name == "weights.safetensors":
            with pytest.raises(CheckpointError):
                run.load()
