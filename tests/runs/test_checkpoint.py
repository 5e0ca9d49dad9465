"""Checkpoints: whole or refused by name, never half believed, never executed."""

import errno
import hashlib
import json
import os
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import hogwild
from hogwild.envs.gymnasium_batch import GymnasiumBatch
from hogwild.errors import CheckpointError
from hogwild.files import write_whole
from hogwild.runs import checkpoint as module
from hogwild.runs.checkpoint import (
    Checkpoint,
    list_checkpoints,
    newest_checkpoint,
    read_checkpoint,
    remove_old,
    write_checkpoint,
)

PAYLOADS = ("weights.safetensors", "learner.safetensors", "state.safetensors", "state.json")


def content(step: int = 1) -> Checkpoint:
    return Checkpoint(
        weights={"actor.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "actor.bias": np.zeros(2, np.float32)},
        learner={"counters": np.array([step, 2, 3], dtype=np.int64)},
        state={
            "progress": {"steps": step, "best": -np.inf, "recent": [[1.0, 20, 5, 0, 0.5]]},
            "workers": [{"picture": np.full((2, 2), 7, dtype=np.uint8), "random": {"state": 2**120}}, None],
            "text": "ä, '\"\n",
        },
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path, 1, content())


def rewrite_manifest(path: Path, **changes: Any) -> None:
    """Make the manifest agree with the files as they are now."""
    files = {
        name: {
            "size": (path / name).stat().st_size,
            "sha256": hashlib.sha256((path / name).read_bytes()).hexdigest(),
        }
        for name in PAYLOADS
    }
    manifest = {"format": 1, "step": 1, "files": files} | changes
    (path / "manifest.json").write_text(json.dumps(manifest))


def refuse(path: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_everything_comes_back_as_it_was(saved: Path) -> None:
    back, wanted = read_checkpoint(saved), content()
    for name in ("weights", "learner"):
        arrays, expected = getattr(back, name), getattr(wanted, name)
        assert arrays.keys() == expected.keys()
        for key, array in expected.items():
            assert arrays[key].dtype == array.dtype
            np.testing.assert_array_equal(arrays[key], array)
    picture = back.state["workers"][0].pop("picture")
    np.testing.assert_array_equal(picture, wanted.state["workers"][0].pop("picture"))
    assert picture.dtype == np.uint8
    assert back.state == wanted.state


def test_the_folder_is_named_after_the_step_and_nothing_else_is_left(tmp_path: Path) -> None:
    assert write_checkpoint(tmp_path, 2048, content()).name == "step-000000002048"
    assert [p.name for p in tmp_path.iterdir()] == ["step-000000002048"]


def test_the_same_step_can_be_written_again(tmp_path: Path, saved: Path) -> None:
    assert write_checkpoint(tmp_path, 1, content(99)) == saved
    assert read_checkpoint(saved).learner["counters"][0] == 99


@pytest.mark.fault(50)
@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("length", ["nothing", "half", "one byte less"])
def test_a_truncated_file_is_refused(saved: Path, name: str, length: str) -> None:
    whole = (saved / name).read_bytes()
    kept = {"nothing": 0, "half": len(whole) // 2, "one byte less": len(whole) - 1}[length]
    (saved / name).write_bytes(whole[:kept])
    assert name in refuse(saved)


@pytest.mark.fault(51)
@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("place", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_a_flipped_byte_is_refused(saved: Path, name: str, place: float) -> None:
    damaged = bytearray((saved / name).read_bytes())
    damaged[round(place * (len(damaged) - 1))] ^= 0x40
    (saved / name).write_bytes(damaged)
    assert name in refuse(saved)


@pytest.mark.fault(50)
@pytest.mark.parametrize("name", PAYLOADS)
def test_a_missing_file_is_refused(saved: Path, name: str) -> None:
    (saved / name).unlink()
    assert name in refuse(saved)


def test_a_flipped_byte_in_the_manifest_is_refused_or_harmless(saved: Path) -> None:
    whole = (saved / "manifest.json").read_bytes()
    refused = []
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= (0x01, 0x40, 0x80)[place % 3]
        (saved / "manifest.json").write_bytes(damaged)
        try:
            found = read_checkpoint(saved)
        except CheckpointError as error:
            refused.append(str(error))
        else:
            assert found.learner["counters"].tolist() == [1, 2, 3]
    assert all(str(saved) in complaint for complaint in refused)
    assert len(refused) > 0.7 * len(whole)  # the rest is indentation and the number of the step


@pytest.mark.fault(52)
@pytest.mark.parametrize(
    "manifest", ["", "{", "[]", "null", "{}", '{"format": 1}', '{"format": "new", "files": {}}', "\x00" * 40]
)
def test_a_damaged_manifest_is_refused(saved: Path, manifest: str) -> None:
    (saved / "manifest.json").write_text(manifest)
    assert "manifest.json" in refuse(saved)


@pytest.mark.fault(52)
def test_a_missing_manifest_is_refused_as_not_whole(saved: Path) -> None:
    (saved / "manifest.json").unlink()
    assert "not a whole checkpoint" in refuse(saved)
    assert list_checkpoints(saved.parent) == []


@pytest.mark.fault(58)
def test_a_newer_format_is_refused_with_advice(saved: Path) -> None:
    rewrite_manifest(saved, format=module.FORMAT + 1)
    assert "update Hogwild" in refuse(saved)


class Booby:
    """Unpickling this creates a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return open, (str(self.mark), "w")


@pytest.mark.fault(54)
@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("forged", [False, True], ids=["manifest as written", "manifest forged"])
def test_a_pickle_is_refused_and_never_executed(saved: Path, tmp_path: Path, name: str, forged: bool) -> None:
    mark = tmp_path / "executed"
    (saved / name).write_bytes(pickle.dumps(Booby(mark)))
    if forged:
        rewrite_manifest(saved)
    refuse(saved)
    assert not mark.exists()
    pickle.loads((saved / name).read_bytes()).close()  # the trap itself works
    assert mark.exists()


def test_the_newest_of_several_is_found(tmp_path: Path) -> None:
    for step in (5, 100, 20):
        write_checkpoint(tmp_path, step, content(step))
    path, found, skipped = newest_checkpoint(tmp_path)
    assert path.name == "step-000000000100"
    assert found.state["progress"]["steps"] == 100
    assert skipped == []


@pytest.mark.fault(50)
@pytest.mark.fault(51)
def test_a_damaged_newest_falls_back_to_the_one_before_and_says_so(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        write_checkpoint(tmp_path, step, content(step))
    (tmp_path / "step-000000000003" / "state.json").write_text("{")
    (tmp_path / "step-000000000002" / "weights.safetensors").unlink()
    path, found, skipped = newest_checkpoint(tmp_path)
    assert path.name == "step-000000000001"
    assert found.state["progress"]["steps"] == 1
    assert len(skipped) == 2
    assert "step-000000000003" in skipped[0]
    assert "step-000000000002" in skipped[1]


def test_only_damaged_checkpoints_are_an_error_that_names_them_all(tmp_path: Path) -> None:
    for step in (1, 2):
        (write_checkpoint(tmp_path, step, content()) / "state.json").unlink()
    with pytest.raises(CheckpointError) as caught:
        newest_checkpoint(tmp_path)
    assert all(name in str(caught.value) for name in (str(tmp_path), "step-000000000001", "step-000000000002"))


@pytest.mark.parametrize("folder", ["empty", "missing"])
def test_no_checkpoint_at_all_is_an_error(tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match="No checkpoint was finished"):
        newest_checkpoint(tmp_path / folder)


@pytest.mark.fault(53)
def test_leftovers_of_interrupted_writes_are_ignored_and_overwritten(tmp_path: Path, saved: Path) -> None:
    leftover = tmp_path / ".step-000000000009.tmp"
    leftover.mkdir()
    for name in (*PAYLOADS, "manifest.json"):
        (leftover / name).write_bytes((saved / name).read_bytes()[:10])
    assert list_checkpoints(tmp_path) == [saved]
    assert newest_checkpoint(tmp_path)[0] == saved
    assert read_checkpoint(write_checkpoint(tmp_path, 9, content(9))).state["progress"]["steps"] == 9
    assert not leftover.exists()


@pytest.mark.fault(46)
@pytest.mark.parametrize("files_before", range(5))
def test_a_full_disk_is_an_error_and_leaves_older_checkpoints_alone(
    tmp_path: Path, saved: Path, monkeypatch: pytest.MonkeyPatch, files_before: int
) -> None:
    written: list[Path] = []

    def fill_up(path: Path, data: bytes) -> None:
        if len(written) == files_before:
            path.write_bytes(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(path)
        write_whole(path, data)

    monkeypatch.setattr(module, "write_whole", fill_up)
    with pytest.raises(CheckpointError, match="No space left on device") as caught:
        write_checkpoint(tmp_path, 2, content(2))
    assert str(tmp_path) in str(caught.value)
    assert list(tmp_path.iterdir()) == [saved]
    assert read_checkpoint(saved).state["progress"]["steps"] == 1


def test_a_failed_second_write_of_a_step_leaves_the_first(
    tmp_path: Path, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    for name in ("rename", "replace"):
        monkeypatch.setattr(os, name, fail)
    with pytest.raises(CheckpointError):
        write_checkpoint(tmp_path, 1, content(99))
    assert newest_checkpoint(tmp_path)[1].state["progress"]["steps"] == 1


def test_retention_keeps_the_newest_and_the_best(tmp_path: Path) -> None:
    for step in range(1, 7):
        write_checkpoint(tmp_path, step, content(step))
    remove_old(tmp_path / "step-000000000006", keep=2, best="step-000000000003")
    assert [int(p.name.removeprefix("step-")) for p in list_checkpoints(tmp_path)] == [3, 5, 6]


def test_retention_with_fewer_checkpoints_than_it_keeps_removes_nothing(tmp_path: Path) -> None:
    for step in (1, 2):
        write_checkpoint(tmp_path, step, content(step))
    remove_old(tmp_path / "step-000000000002", keep=3, best="")
    assert len(list_checkpoints(tmp_path)) == 2


def test_a_checkpoint_made_after_falling_back_outlives_the_damaged_newer_one(tmp_path: Path) -> None:
    few: dict[str, Any] = {"engine": "inline", "workers": 1, "envs": 2, "rollout_steps": 16, "keep_checkpoints": 1}
    run = hogwild.train(
        "hogwild/ProbeConstant-v0", steps=64, runs=str(tmp_path), **few
    )  # whose return never gets better than it was
    newer = write_checkpoint(run.folder.checkpoints, 10**6, content())
    (newer / "state.json").write_text("{")
    run.resume(steps=128)
    assert hogwild.load(run).steps == 128


class HoldsText(gymnasium.Env[np.ndarray, np.int64]):
    """A small world with its map as an array of text, like those of Gymnasium's grid worlds."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.map = np.array(["S", "G"])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        return np.zeros(1, np.float32), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        return np.zeros(1, np.float32), 1.0, True, False, {}


def test_what_an_environment_with_an_array_of_text_says_of_its_state_can_be_written(tmp_path: Path) -> None:
    batch = GymnasiumBatch("HoldsText-v0", HoldsText, 1)
    batch.reset([0])
    path = write_checkpoint(tmp_path, 1, Checkpoint({}, {}, {"workers": [batch.state()]}))
    assert len(read_checkpoint(path).state["workers"]) == 1


@pytest.mark.parametrize("keep", [1, 2, 4, 10])
def test_retention_keeps_as_many_as_asked_at_all_times(tmp_path: Path, keep: int) -> None:
    for step in range(1, 15):
        newest = write_checkpoint(tmp_path, step, content(step))
        remove_old(newest, keep=keep, best="")
        assert len(list_checkpoints(tmp_path)) == min(step, keep)
