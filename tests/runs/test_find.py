"""Runs are found by path, by name and by the word 'latest'; checkpoints by step and by how good they are."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hogwild.config.settings import Settings
from hogwild.errors import CheckpointError, UsageError
from hogwild.runs.checkpoint import Checkpoint, write_checkpoint
from hogwild.runs.find import find_checkpoint, find_run, list_runs, summarise
from hogwild.runs.folder import RunFolder


def make_run(root: Path, name: str, steps: tuple[int, ...] = (), **status: Any) -> RunFolder:
    folder = RunFolder(root / name)
    folder.create()
    folder.write_settings(Settings().update(env="CartPole-v1", name=name))
    folder.write_meta({"created": "2026-01-02T03:04:05+0000", "environment": {"id": "CartPole-v1"}})
    if status:
        folder.write_status(status)
    for step in steps:
        write_checkpoint(folder.checkpoints, step, Checkpoint({"w": np.zeros(1)}, {}, {"step": step}))
    return folder


def test_a_run_is_found_by_its_name_and_by_its_path(tmp_path: Path) -> None:
    made = make_run(tmp_path, "pong-1")
    assert find_run("pong-1", str(tmp_path)).path == made.path
    assert find_run(str(made.path), "elsewhere").path == made.path


def test_latest_is_the_run_that_was_started_last(tmp_path: Path) -> None:
    for age, name in enumerate(("b", "a", "c")):
        os.utime(make_run(tmp_path, name).config, (1e9 - age, 1e9 - age))
    assert find_run("latest", str(tmp_path)).name == "b"


def test_a_misspelt_run_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    make_run(tmp_path, "pong-lstm")
    with pytest.raises(UsageError, match="no run 'pong-lstn'; did you mean 'pong-lstm'"):
        find_run("pong-lstn", str(tmp_path))


@pytest.mark.parametrize("name", ["anything", "latest"])
def test_without_any_run_the_message_says_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"no run '{name}'. There is no run in '.*' yet"):
        find_run(name, str(tmp_path / "runs"))


def test_only_folders_with_settings_are_runs(tmp_path: Path) -> None:
    make_run(tmp_path, "b")
    make_run(tmp_path, "a")
    (tmp_path / "notes").mkdir()
    (tmp_path / "file").write_text("")
    assert [folder.name for folder in list_runs(str(tmp_path))] == ["a", "b"]
    assert list_runs(str(tmp_path / "file")) == []


def test_a_checkpoint_is_found_by_word_by_step_and_by_name(tmp_path: Path) -> None:
    folder = make_run(tmp_path, "a", steps=(5, 64, 128), best_checkpoint="step-000000000064")
    found = {which: find_checkpoint(folder, which)[1].state["step"] for which in ("newest", "best", "5")}
    assert found == {"newest": 128, "best": 64, "5": 5}
    assert find_checkpoint(folder, "step-000000000005")[0].name == "step-000000000005"


def test_an_unknown_checkpoint_is_refused_with_what_there_is(tmp_path: Path) -> None:
    folder = make_run(tmp_path, "a", steps=(5,))
    with pytest.raises(UsageError, match="did you mean 'newest'"):
        find_checkpoint(folder, "newst")
    with pytest.raises(UsageError, match="step-000000000005"):
        find_checkpoint(folder, "7")


@pytest.mark.parametrize("status", [{}, {"best_checkpoint": None}, {"best_checkpoint": "step-000000000009"}])
def test_a_run_without_a_best_checkpoint_says_so(tmp_path: Path, status: dict[str, Any]) -> None:
    folder = make_run(tmp_path, "a", steps=(5,), **status)
    with pytest.raises(CheckpointError, match="no best checkpoint"):
        find_checkpoint(folder, "best")


def test_a_summary_tells_what_a_table_needs(tmp_path: Path) -> None:
    folder = make_run(
        tmp_path, "a", state="finished", env="CartPole-v1", steps=(), seconds=90.0, return_mean=3.5, return_best=9.0
    )
    folder.write_status(
        {"state": "finished", "reason": "1.5 minutes over", "env": "CartPole-v1", "steps": 7, "seconds": 90.0}
        | {"return_mean": 3.5, "return_best": 9.0}
    )
    assert summarise(folder) == {
        "name": "a",
        "env": "CartPole-v1",
        "state": "finished",
        "reason": "1.5 minutes over",
        "steps": 7,
        "minutes": 1.5,
        "return_mean": 3.5,
        "return_best": 9.0,
        "created": "2026-01-02T03:04:05+0000",
    }


def test_a_run_whose_process_is_gone_has_died(tmp_path: Path) -> None:
    folder = make_run(tmp_path, "a", state="training")
    assert summarise(folder)["state"] == "died"
    assert summarise(folder)["reason"] == "its process ended without a word"
    owner = RunFolder(folder.path)
    owner.lock()
    assert summarise(folder)["state"] == "training"
    owner.unlock()


@pytest.mark.parametrize("damage", ["status.json", "meta.json"])
def test_a_run_with_a_damaged_file_is_still_listed(tmp_path: Path, damage: str) -> None:
    folder = make_run(tmp_path, "a", state="finished")
    (folder.path / damage).write_text("{")
    assert summarise(folder)["name"] == "a"
