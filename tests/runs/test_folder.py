"""A run's folder: never overwritten unasked, never used by two, and read back as it was written."""

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import hogwild
from hogwild.config.settings import Settings
from hogwild.errors import CheckpointError, RunFolderError, UsageError
from hogwild.resolve import read_file
from hogwild.runs.folder import RunFolder, default_name, read_json


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "mine")
    made.create()
    made.write_settings(Settings())
    return made


def below_a_file(tmp_path: Path) -> RunFolder:
    (tmp_path / "file").write_text("not a folder")
    return RunFolder(tmp_path / "file" / "mine")


def test_an_existing_run_is_refused_and_the_message_names_the_way_on(folder: RunFolder) -> None:
    with pytest.raises(UsageError) as caught:
        RunFolder(folder.path).create()
    assert f"hogwild resume {folder.path}" in str(caught.value)
    assert "--overwrite" in str(caught.value)
    assert folder.config.exists()


def test_an_existing_run_is_replaced_if_asked(folder: RunFolder) -> None:
    (folder.checkpoints / "step-000000000001").mkdir()
    RunFolder(folder.path).create(overwrite=True)
    assert not folder.config.exists()
    assert list(folder.checkpoints.iterdir()) == []


def test_a_run_that_is_being_trained_is_not_replaced_even_if_asked(folder: RunFolder) -> None:
    folder.lock()
    with pytest.raises(RunFolderError, match="being trained"):
        RunFolder(folder.path).create(overwrite=True)
    assert folder.config.exists()
    folder.unlock()


def test_a_run_that_cannot_be_removed_is_an_error_with_its_name(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, **_: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(shutil, "rmtree", fail)
    with pytest.raises(RunFolderError, match="Permission denied") as caught:
        RunFolder(folder.path).create(overwrite=True)
    assert str(folder.path) in str(caught.value)


@pytest.mark.fault(71)
def test_a_second_claim_is_refused_with_the_process_that_has_the_first(folder: RunFolder) -> None:
    folder.lock()
    folder.write_status({"pid": os.getpid()})
    with pytest.raises(RunFolderError, match=rf"process {os.getpid()}\b"):
        RunFolder(folder.path).lock()
    folder.unlock()


def test_a_second_claim_names_the_process_even_before_its_first_status(folder: RunFolder) -> None:
    folder.lock()
    with pytest.raises(RunFolderError, match=rf"process {os.getpid()}\b"):
        RunFolder(folder.path).lock()
    folder.unlock()


@pytest.mark.fault(71)
def test_a_claim_that_was_given_up_can_be_taken_again(folder: RunFolder) -> None:
    folder.lock()
    folder.unlock()
    other = RunFolder(folder.path)
    other.lock()
    other.unlock()


def test_a_run_is_live_while_it_is_claimed(folder: RunFolder) -> None:
    assert not RunFolder(folder.path).is_live()
    folder.lock()
    assert RunFolder(folder.path).is_live()
    folder.unlock()
    assert not RunFolder(folder.path).is_live()


def test_asking_whether_a_run_is_live_leaves_no_file_open(folder: RunFolder) -> None:
    folder.lock()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        RunFolder(folder.path).is_live()
    assert len(os.listdir("/proc/self/fd")) < before + 10
    folder.unlock()


def test_a_resume_that_failed_gives_up_its_claim(tmp_path: Path) -> None:
    run = hogwild.train("CartPole-v1", steps=64, engine="inline", workers=1, envs=2, runs=str(tmp_path), name="a")
    for checkpoint in run.folder.checkpoints.iterdir():
        (checkpoint / "state.json").unlink()
    with pytest.raises(CheckpointError):
        run.resume(steps=128)
    assert not run.folder.is_live()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"env": "ALE/Pong-v5", "protocol": "a3c-2016", "name": 'quo"te\\ \n ü', "runs": "some where/runs"},
        {"envs": (16, 32, 8), "discount": (0.9, 0.99, 1.0), "learning_rate": (1e-8, 7e-4), "rollout_steps": 5},
        {"sticky": 0.0, "noops": 0, "frame_skip": 4, "frame_limit": 400, "reward_clip": 0.5, "reward_scale": 1e-3},
        {"life_loss": False, "fire_reset": True, "full_actions": False, "normalise_advantage": True},
        {"until_return": -21.0, "steps": 10**15, "minutes": 0.25, "seed": 2**40},
        {"until_return": None, "memory": "lstm", "dropout": 0.1, "lock": "turns", "engine": "inline"},
    ],
)
def test_settings_are_read_back_as_they_were_written(folder: RunFolder, changes: dict[str, Any]) -> None:
    settings = Settings().update(**changes)
    folder.write_settings(settings)
    assert Settings().update(**read_file(folder.config)) == settings


def test_status_and_description_are_read_back(folder: RunFolder) -> None:
    folder.write_status({"steps": 5, "return_mean": None})
    folder.write_meta({"command": "hogwild train 'x'"})
    assert read_json(folder.status) == {"steps": 5, "return_mean": None}
    assert read_json(folder.meta) == {"command": "hogwild train 'x'"}


@pytest.mark.parametrize("text", ["", "{", "[1]", "\x00\x00"])
def test_a_damaged_status_reads_as_empty(folder: RunFolder, text: str) -> None:
    folder.status.write_text(text)
    assert read_json(folder.status) == {}


@pytest.mark.parametrize("action", ["create", "lock", "write_settings", "write_status", "write_meta", "note"])
def test_a_folder_that_cannot_be_written_is_an_error_with_its_name(tmp_path: Path, action: str) -> None:
    folder = below_a_file(tmp_path)
    argument: dict[str, Any] = {"write_settings": Settings(), "write_status": {}, "write_meta": {}, "note": "line"}
    with pytest.raises(RunFolderError, match="Not a directory") as caught:
        getattr(folder, action)(*([argument[action]] if action in argument else []))
    assert str(folder.path) in str(caught.value)


def test_a_failed_write_leaves_the_old_file_and_no_other(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write_status({"steps": 1})
    before = sorted(folder.path.iterdir())

    def fail(*_: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(RunFolderError, match="Read-only"):
        folder.write_status({"steps": 2})
    assert read_json(folder.status) == {"steps": 1}
    assert sorted(folder.path.iterdir()) == before


def test_notes_are_added_to_the_log_one_after_the_other(folder: RunFolder) -> None:
    folder.note("first")
    folder.note("second")
    assert [line.split()[-1] for line in folder.log.read_text().splitlines()] == ["first", "second"]


def test_a_name_is_made_of_environment_seed_and_time_and_fit_for_a_folder() -> None:
    settings = Settings().update(env="my.module:Some/Env-v0", seed=7, exchange="barrier", engine="threads")
    name = default_name(settings)
    assert name.startswith("my-module-some-env-v0-barrier-threads-seed7-2")
    assert not set(name) & set("/:. ")


def test_two_runs_without_a_name_that_start_in_the_same_second_are_two_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hogwild.runs.folder.time.strftime", lambda *_: "20260101-000000")
    few: dict[str, Any] = {"steps": 32, "engine": "inline", "workers": 1, "envs": 2, "runs": str(tmp_path)}
    first = hogwild.train("CartPole-v1", **few)
    second = hogwild.train("CartPole-v1", **few)
    assert first.path != second.path
