"""Whatever bytes a file holds, reading it ends: with what it means, or with an error that has a name."""

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from hogwild.config.settings import Settings
from hogwild.errors import HogwildError
from hogwild.exchanges.slots import Slots
from hogwild.faults.capsule import read_capsule
from hogwild.resolve import read_file
from hogwild.rollout import Played
from hogwild.runs.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from hogwild.runs.find import summarise
from hogwild.runs.folder import RunFolder, read_json
from hogwild.runs.tree import join_tree, split_tree
from hogwild.runs.writers import read_episodes, read_rows
from hogwild.validate import problems

MANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
plain = some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=8)
trees = some.recursive(
    plain, lambda inside: some.lists(inside) | some.dictionaries(some.text(max_size=5), inside), max_leaves=12
)
PAYLOADS = ("weights.safetensors", "learner.safetensors", "state.safetensors", "state.json", "manifest.json")


@MANY
@given(name=some.sampled_from(sorted(Settings().flat())), value=trees | some.tuples(plain, plain))
def test_a_setting_takes_a_value_or_refuses_it_in_words(name: str, value: Any) -> None:
    try:
        changed = Settings().update(**{name: value})
    except HogwildError:
        return
    assert all(isinstance(words, str) for words in problems(changed))


@MANY
@given(content=some.binary(max_size=300) | some.text(max_size=200).map(str.encode))
def test_a_file_of_settings_is_read_or_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(content)
    with contextlib.suppress(HogwildError):
        Settings().update(**read_file(path))


@MANY
@given(
    name=some.sampled_from(PAYLOADS), content=some.binary(max_size=200) | trees.map(lambda t: json.dumps(t).encode())
)
def test_a_checkpoint_is_read_or_refused(name: str, content: bytes, tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path, 1, Checkpoint({"w": np.ones(3)}, {"s": np.ones(3)}, {"a": [np.ones(2), 1]}))
    (path / name).write_bytes(content)
    with pytest.raises(HogwildError):
        read_checkpoint(path)


def changed(tree: Any, at: int, value: Any) -> Any:
    """A document with another value in one place."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
            places.append((node, key))
            walk(node[key])

    copy = json.loads(json.dumps(tree))
    walk(copy)
    node, key = places[at % len(places)]
    node[key] = value
    return copy


LARGE = some.sampled_from([1e400, -(10**30), 10**400, -1, 0.5, "", [], {}, None])
CAPSULE = {
    **{"format": 1, "env": "CartPole-v1", "environment": {"backend": "gymnasium"}, "what": "x", "details": ""},
    **{"versions": {"a": "1"}, "played": [{"index": 0, "seed": 1, "actions": [0, 1], "is_whole": True}]},
}
STATUS = {"state": "training", "env": "a", "steps": 3, "seconds": 1.5, "return_mean": 2.0, "best_checkpoint": "step-1"}


@MANY
@given(at=some.integers(0, 99), value=LARGE | trees)
def test_what_nearly_is_right_is_read_or_refused(at: int, value: Any, tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path, 1, Checkpoint({"w": np.ones(3)}, {"s": np.ones(3)}, {"a": [np.ones(2), 1]}))
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps(changed(manifest, at, value)))
    (tmp_path / "capsule.json").write_text(json.dumps(changed(CAPSULE, at, value)))
    for read, what in ((read_checkpoint, path), (read_capsule, tmp_path / "capsule.json")):
        with contextlib.suppress(HogwildError):
            read(what)  # type: ignore[operator]
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir(exist_ok=True)
    folder.write_settings(Settings(env="CartPole-v1"))
    folder.status.write_text(json.dumps(changed(STATUS, at, value)))
    row = summarise(folder)
    assert isinstance(row["steps"], int)
    assert isinstance(row["minutes"], float)


@MANY
@given(tree=trees)
def test_a_tree_comes_back_as_it_was(tree: Any) -> None:
    def without_nan(node: Any) -> Any:
        return json.loads(json.dumps(node))

    content, arrays = split_tree(tree)
    again = join_tree(content, arrays)
    assert json.dumps(without_nan(again)) == json.dumps(without_nan(tree))


@MANY
@given(content=some.binary(max_size=300) | trees.map(lambda t: json.dumps(t).encode()))
def test_a_capsule_is_read_or_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "capsule.json"
    path.write_bytes(content)
    with contextlib.suppress(HogwildError):
        read_capsule(path)


@MANY
@given(content=some.binary(max_size=300) | trees.map(lambda t: json.dumps(t).encode()), which=some.integers(0, 3))
def test_a_damaged_run_is_still_a_run(content: bytes, which: int, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir(exist_ok=True)
    folder.write_settings(Settings(env="CartPole-v1"))
    for path in (folder.status, folder.metrics, folder.episodes, folder.meta):
        path.unlink(missing_ok=True)
    (folder.status, folder.metrics, folder.episodes, folder.meta)[which].write_bytes(content)
    assert isinstance(read_json(folder.status), dict)
    assert all("progress/steps" in row for _, row in read_rows(folder.metrics))
    assert all(len(row) == 5 for row in read_episodes(folder.episodes))
    assert summarise(folder)


@MANY
@given(position=some.integers(0, 59), bit=some.integers(0, 7))
def test_a_slot_with_a_flipped_bit_is_not_whole(position: int, bit: int) -> None:
    slots = Slots(1, 1, {"flat": torch.empty(12), "first": torch.empty(12, dtype=torch.bool)})
    slots.content("flat", 0).copy_(torch.arange(12.0))
    slots.seal(0)
    slots.hand_over(0, [Played(1)])
    name, at = ("flat", position) if position < 48 else ("first", position - 48)
    slots.content(name, 0).view(-1).view(torch.uint8)[at] ^= 1 << bit
    assert not slots.is_whole(0)
