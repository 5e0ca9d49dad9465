"""Disks that are full or read-only, and checkpoints that were damaged or made to do harm."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import psutil
import pytest

import hogwild
from hogwild.envs.env_state import load_env, save_env
from hogwild.errors import CheckpointError, HogwildError, RunFolderError
from hogwild.evaluation import evaluate
from hogwild.runs import checkpoint as checkpoints
from hogwild.runs.checkpoint import Checkpoint, newest_checkpoint, read_checkpoint, remove_old, write_checkpoint
from hogwild.runs.writers import RunWriter
from tests.reliability.watching import events, train_until

SMALL: dict[str, Any] = {"engine": "inline", "workers": 1, "envs": 2, "rollout_steps": 16, "log_seconds": 0.05}


def content(size: int = 20_000) -> Checkpoint:
    return Checkpoint({"w": np.arange(size, dtype=np.float32)}, {"s": np.ones(size, np.float32)}, {"progress": {}})


WRITE_FOR_EVER = """
import os
import sys
from pathlib import Path
from tests.reliability.test_disks import content
from hogwild.runs.checkpoint import remove_old, write_checkpoint
folder = Path(sys.argv[1])
for line in sys.stdin:
    step = 1000 * int(line)
    child = os.fork()
    while not child:
        step += 1
        write_checkpoint(folder, step, content())
        remove_old(folder / f"step-{step:012d}", 3, "")
    print(child, flush=True)
    os.waitpid(child, 0)
    print("dead", flush=True)
"""


@pytest.mark.fault(45)
def test_a_kill_at_any_moment_of_a_save_leaves_a_checkpoint_that_can_be_read(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, 0, content())
    random, steps, leftovers = np.random.default_rng(0), [0], 0
    words = [sys.executable, "-c", WRITE_FOR_EVER, str(tmp_path)]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2], text=True
    ) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        for trial in range(1, 101):
            print(trial, file=writer.stdin, flush=True)
            child = int(writer.stdout.readline())
            time.sleep(random.uniform(0.0, 0.05))
            os.kill(child, signal.SIGKILL)
            assert writer.stdout.readline() == "dead\n"
            leftovers += any(".tmp" in path.name for path in tmp_path.iterdir())
            path, found, skipped = newest_checkpoint(tmp_path)
            assert skipped == []
            np.testing.assert_array_equal(found.weights["w"], content().weights["w"])
            steps.append(int(path.name.removeprefix("step-")))
            checkpoints.tidy(tmp_path)
    assert steps == sorted(steps)
    assert leftovers > 20  # it was met in the middle of a save


def in_small_disk(folder: Path, size: str, command: str, mount: str = "tmpfs") -> "subprocess.CompletedProcess[str]":
    """Run a shell command in which `folder` is a disk of its own. Where a user may not make one the test is left out,
    but never in CI."""
    folder.mkdir(exist_ok=True)
    script = f"mount -t {mount} -o size={size} {mount} {folder} && {command}"
    done = subprocess.run(
        ["unshare", "-Urm", "bash", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=Path(__file__).parents[2],
    )
    if not os.environ.get("CI") and ("unshare failed" in done.stderr or "not permitted" in done.stderr):
        pytest.skip("no small disks without the right to make them")
    return done


@pytest.mark.fault(46)
@pytest.mark.fault(47)
def test_a_full_disk_is_said_once_and_training_goes_on(tmp_path: Path) -> None:
    runs = tmp_path / "disk"
    train = (
        f"{sys.executable} -m hogwild train CartPole-v1 --engine inline --workers 1 --encoder-size 256 --minutes 0.25 "
        f"--runs {runs} --name run --quiet --checkpoint-seconds 0.5 --log-seconds 0.2"
    )
    saved = f"until ls {runs}/run/checkpoints/*/manifest.json >/dev/null 2>&1; do sleep 0.1; done"
    fill = f"({saved}; dd if=/dev/zero of={runs}/fill bs=1k count=100000 2>/dev/null; sleep 5; rm {runs}/fill) & "
    show = f"; echo code $?; cat {runs}/run/status.json; ls {runs}/run/checkpoints -a"
    done = in_small_disk(runs, "12m", fill + train + show)
    assert "code 0" in done.stdout, done.stdout + done.stderr
    assert '"state": "finished"' in done.stdout
    assert "No space left on device" in done.stderr
    assert "Training goes on" in done.stderr
    assert done.stderr.count("Cannot write a checkpoint") <= 2
    assert ".tmp" not in done.stdout


@pytest.mark.fault(48)
def test_a_folder_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    runs = tmp_path / "disk"
    train = f"{sys.executable} -m hogwild train CartPole-v1 --runs {runs} --name run"
    done = in_small_disk(runs, "1m", f"mount -o remount,ro {runs} && {train}; echo code $?")
    assert "code 5" in done.stdout
    assert done.stderr == f"hogwild: Cannot write to '{runs}/run': Read-only file system.\n"


@pytest.mark.fault(49)
def test_a_folder_that_becomes_read_only_does_not_end_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = []

    def refuse(self: RunWriter, row: dict[str, float]) -> None:
        calls.append(row)
        if 2 < len(calls) < 6:
            raise RunFolderError("Cannot write to 'run': Read-only file system.")

    monkeypatch.setattr(RunWriter, "write_row", refuse)
    run = hogwild.train("CartPole-v1", steps=20_000, runs=str(tmp_path), **SMALL)
    assert run.status["state"] == "finished"
    assert len(calls) > 6
    assert capsys.readouterr().err.count("Read-only file system. Training goes on, and it is tried again.") == 1


@pytest.mark.fault(51)
def test_one_flipped_bit_anywhere_is_refused(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path, 1, content(500))
    random = np.random.default_rng(0)
    files = [p for p in path.iterdir() if p.name != "manifest.json"]
    sizes = [p.stat().st_size for p in files]
    for position in random.choice(sum(sizes), 1000, replace=False):
        number = int(np.searchsorted(np.cumsum(sizes), position, side="right"))
        offset = int(position - sum(sizes[:number]))
        whole = files[number].read_bytes()
        damaged = bytearray(whole)
        damaged[offset] ^= 1 << int(random.integers(8))
        files[number].write_bytes(damaged)
        with pytest.raises(CheckpointError, match="is damaged"):
            read_checkpoint(path)
        files[number].write_bytes(whole)
    read_checkpoint(path)


def reseal(path: Path) -> None:
    """Make the manifest agree with what is there, as an attacker would."""
    import hashlib

    manifest = json.loads((path / "manifest.json").read_text())
    for name in manifest["files"]:
        data = (path / name).read_bytes()
        manifest["files"][name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (path / "manifest.json").write_text(json.dumps(manifest))


def safetensors_with(header: dict[str, Any] | bytes, data: bytes = b"") -> bytes:
    words = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(words).to_bytes(8, "little") + words + data


HOSTILE = {
    "a header of many gigabytes": (2**40).to_bytes(8, "little") + b"{}",
    "a header that is no JSON": safetensors_with(b"\x80\x04\x95"),
    "places that overlap": safetensors_with(
        {n: {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} for n in ("a", "b")}, b"\0" * 8
    ),
    "a shape beyond all bounds": safetensors_with(
        {"w": {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 8]}}, b"\0" * 8
    ),
    "places behind the end": safetensors_with(
        {"w": {"dtype": "F32", "shape": [2], "data_offsets": [800, 808]}}, b"\0" * 8
    ),
    "a very deep header": safetensors_with(b'{"a":' * 50_000),
    "nothing": b"",
}


@pytest.mark.fault(55)
@pytest.mark.parametrize("what", HOSTILE)
def test_a_file_made_to_do_harm_is_refused_quickly_and_takes_no_memory(what: str, tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path, 1, content(10))
    (path / "weights.safetensors").write_bytes(HOSTILE[what])
    reseal(path)
    before, began = psutil.Process().memory_info().rss, time.monotonic()
    with pytest.raises(CheckpointError):
        read_checkpoint(path)
    assert time.monotonic() - began < 1.0
    assert psutil.Process().memory_info().rss - before < 50e6


@pytest.mark.fault(55)
def test_a_file_beyond_all_sizes_is_not_read(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path, 1, content(10))
    with (path / "weights.safetensors").open("r+b") as file:
        file.truncate(int(checkpoints.LARGEST_PAYLOAD) + 1)  # it takes no place on the disk
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["files"]["weights.safetensors"]["size"] = int(checkpoints.LARGEST_PAYLOAD) + 1
    (path / "manifest.json").write_text(json.dumps(manifest))
    before = psutil.Process().memory_info().rss
    with pytest.raises(CheckpointError, match="is damaged"):
        read_checkpoint(path)
    assert psutil.Process().memory_info().rss - before < 50e6


STATES: dict[str, Any] = {
    "incarnation": [-5, "x", None, 1e400],
    "carried": [[7], "x", [[{"a": "b"}]]],
    "best_mean": ["x", [1]],
    "progress": [{}, {"steps": 1}, 3],
    "engine": [{"workers": 3}, {"workers": [{"random": [1, 2]}]}, "x"],
}


@pytest.mark.fault(55)
@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in STATES.items() for value in values])
def test_a_state_made_to_do_harm_is_refused_in_words(name: str, value: Any, tmp_path: Path) -> None:
    run = hogwild.train("CartPole-v1", engine="inline", workers=1, steps=300, runs=str(tmp_path), name="run")
    path, _, _ = newest_checkpoint(run.path / "checkpoints")
    state = json.loads((path / "state.json").read_text())
    (path / "state.json").write_text(json.dumps(state | {name: value}))
    reseal(path)
    with pytest.raises(HogwildError, match=r"holds what Hogwild never writes|in mid-game"):
        run.resume(steps=600)


@pytest.mark.fault(55)
def test_a_state_names_nothing_that_is_called() -> None:
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=1)
    saved = save_env(env)
    saved[-1]["attributes"]["_np_random"]["generator"] = "test"
    with pytest.raises(KeyError):
        load_env(env, saved)


@pytest.mark.fault(53)
def test_a_checkpoint_whose_removal_was_cut_short_is_removed(tmp_path: Path) -> None:
    kept, broken = (write_checkpoint(tmp_path, step, content(10)) for step in (1, 2))
    (broken / "manifest.json").unlink()
    checkpoints.tidy(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [kept.name]


@pytest.mark.fault(56)
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_a_checkpoint_whose_file_is_something_else_is_refused(kind: str, tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path, 1, content(10))
    file = path / "weights.safetensors"
    whole = file.read_bytes()
    file.unlink()
    if kind == "link":
        outside = tmp_path / "elsewhere"
        outside.write_bytes(whole)
        file.symlink_to(outside)
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.mkdir()
    with pytest.raises(CheckpointError, match="is damaged"):
        read_checkpoint(path)


@pytest.mark.fault(56)
def test_a_checkpoint_that_is_a_link_is_passed_over(tmp_path: Path) -> None:
    whole = write_checkpoint(tmp_path / "run", 1, content(10))
    elsewhere = write_checkpoint(tmp_path / "other", 2, content(10))
    (tmp_path / "run" / elsewhere.name).symlink_to(elsewhere)
    path, _, skipped = newest_checkpoint(tmp_path / "run")
    assert path == whole
    assert "is a link" in skipped[0]


@pytest.mark.fault(57)
def test_runs_of_every_older_format_can_be_played_and_resumed(tmp_path: Path) -> None:
    folders = sorted((Path(__file__).parent / "formats").iterdir())
    assert len(folders) == checkpoints.FORMAT
    for folder in folders:
        shutil.copytree(folder, tmp_path / folder.name)
        run = hogwild.Run(folder.name, str(tmp_path))
        before = run.status["steps"]
        assert evaluate(hogwild.load(run), episodes=2).returns
        run.resume(steps=before + 500, until_return=None)
        assert run.status["steps"] >= before + 500


@pytest.mark.fault(61)
def test_an_old_checkpoint_that_cannot_be_removed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in range(4):
        newest_path = write_checkpoint(tmp_path, step, content(10))
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    words = remove_old(newest_path, 2, "")
    assert len(words) == 2
    assert "Cannot remove the old checkpoint" in words[0]
    assert read_checkpoint(newest_path).weights


@pytest.mark.fault(60)
def test_a_slow_disk_does_not_stop_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, calls = checkpoints.write_whole, []

    def slow(path: Path, data: bytes) -> None:
        calls.append(path)
        time.sleep(0.5)
        whole(path, data)

    monkeypatch.setattr(checkpoints, "write_whole", slow)
    run = train_until(
        lambda _: len(calls) >= 10, tmp_path, env="CartPole-v1", workers=1, checkpoint_seconds=1.0, until_return=501.0
    )
    assert run.status["steps"] > 10_000
    assert events(run) == []
