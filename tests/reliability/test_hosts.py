"""Little shared memory, few files, a clock that jumps, a terminal that goes away; and runs that are resumed."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import psutil
import pytest

import hogwild
from hogwild.runs import checkpoint as checkpoints
from hogwild.runs.checkpoint import newest_checkpoint
from hogwild.runs.folder import RunFolder
from tests.reliability.test_disks import in_small_disk
from tests.reliability.watching import pid_of, train_disturbed

ROOT = Path(__file__).parents[2]


@pytest.mark.fault(68)
def test_little_shared_memory_is_enough(tmp_path: Path) -> None:
    pictures = "--exchange trajectories --objective vtrace --envs 16 --image-size 84 --frame-stack 4 --slots 4"
    place = f"--steps 3000 --runs {tmp_path} --name run --quiet"
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


@pytest.mark.fault(67)
def test_a_run_that_is_killed_again_and_again_keeps_what_it_had(tmp_path: Path) -> None:
    flags = ["--runs", str(tmp_path), "--quiet"]
    command = ["train", "CartPole-v1", "--name", "run", "--workers", "1", "--steps", "10000000", *flags]
    command += ["--checkpoint-seconds", "0.5", "--log-seconds", "0.2", "--until-return", "501"]
    kept = []
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-m", "hogwild", *command])
        run = RunFolder(tmp_path / "run")
        before = kept[-1] if kept else 0
        end = time.monotonic() + 60
        while _newest_step(run) <= before and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept.append(_newest_step(run))
        command = ["resume", "run", *flags]
    assert kept == sorted(kept)
    assert len(set(kept)) == 5


def _newest_step(run: RunFolder) -> int:
    try:
        return int(newest_checkpoint(run.checkpoints)[1].state["progress"]["steps"])
    except Exception:
        return 0


@pytest.mark.fault(62)
@pytest.mark.parametrize(
    ("env", "is_same"),
    [("CartPole-v1", True), ("pong", True), ("LunarLander-v3", True), ("tests.failing_envs:Forgetful-v0", False)],
)
def test_whether_a_resumed_run_is_the_run_that_was_never_stopped_is_said(env: str, is_same: bool) -> None:
    steps = ["--steps", "3000" if env == "pong" else "12000"]
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
    run.resume(steps=1000, learning_rate=1e-4)
    assert run.settings.optimizer.learning_rate == (1e-4,)
    with pytest.raises(hogwild.HogwildError, match="does not fit this policy"):
        run.resume(steps=1500, encoder_size=32)
