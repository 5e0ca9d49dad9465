"""What is written down beside environments, and that it is enough to make everything happen again."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hogwild.config.settings import EnvSettings
from hogwild.envs import blackbox
from hogwild.envs.batch import Fault, Step
from hogwild.envs.blackbox import BlackBox, Played
from hogwild.envs.env_state import Unrepeatable
from hogwild.envs.gymnasium_batch import SEED_STEPS, GymnasiumBatch, next_seed
from hogwild.envs.ids import EnvPlan
from hogwild.envs.make import make_batch
from hogwild.envs.recorded import RecordedBatch


def recorded(name: str, folder: Path, envs: int = 2) -> tuple[RecordedBatch, list[list[Played]]]:
    kept: list[list[Played]] = []

    def keep(fault: Fault, played: list[Played]) -> str:
        kept.append(played)
        return f"capsule {len(kept)}"

    return RecordedBatch(make_batch(EnvPlan(name), EnvSettings(), envs), folder / "box.bin", keep), kept


@pytest.mark.parametrize("name", ["CartPole-v1", "LunarLander-v3", "Pendulum-v1", "HalfCheetah-v5"])
def test_an_episode_is_played_again_from_its_seed_and_actions(name: str, tmp_path: Path) -> None:
    batch, _ = recorded(name, tmp_path)
    random = np.random.default_rng(0)
    batch.reset([3, 4])
    spec = batch.spec
    for _ in range(150):
        numbers = random.uniform(-1, 1, (2, *spec.action_shape)) if not spec.is_choice else random.integers(2, size=2)
        step = batch.step(numbers.astype(spec.action_dtype))
    played = BlackBox.open(tmp_path / "box.bin").played()[1]  # as another process reads it
    again = make_batch(EnvPlan(name), EnvSettings(), 1)
    assert isinstance(again, GymnasiumBatch)
    again.replay(0, played.seed, played.actions)
    np.testing.assert_array_equal(again.layout.observations.arrange(again.seen)[0], step.observations[1])


def test_the_first_episode_after_so_many_steps_has_a_seed_that_follows_from_the_one_before(tmp_path: Path) -> None:
    batch, _ = recorded("CartPole-v1", tmp_path)
    batch.reset([7, 8])
    seeds, since = [[7], [8]], np.zeros(2, int)
    for _ in range(2_000):
        step = batch.step(np.array([1, 0]))
        since += 1
        for index in np.flatnonzero(step.terminated & (since >= SEED_STEPS)):
            assert batch.seeds is not None
            seeds[index].append(int(batch.seeds[index]))
            since[index] = 0
            assert seeds[index][-1] == next_seed(seeds[index][-2])
            assert batch.box.played()[index] == Played(int(index), seeds[index][-1], [], True)
        assert [each[-1] for each in seeds] == list(batch.seeds)
        assert [len(each.actions) for each in batch.box.played()] == list(since)
    assert len({seed for each in seeds for seed in each}) == len(seeds[0]) + len(seeds[1]) > 15


def test_a_gap_in_the_tape_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batch, _ = recorded("CartPole-v1", tmp_path)
    batch.reset([1, 2])
    real = os.pwrite

    def full_disk(file: int, content: Any, at: int) -> int:
        raise OSError(28, "No space left on device")

    for step in range(6):
        monkeypatch.setattr(os, "pwrite", full_disk if step == 3 else real)
        batch.step(np.array([step % 2, 1]))
    for box in (batch.box, BlackBox.open(tmp_path / "box.bin")):
        assert [(each.actions, each.is_whole) for each in box.played()] == [([0, 1, 0, 0, 1], False), ([1] * 5, False)]


def test_an_episode_longer_than_what_is_kept_is_not_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blackbox, "LONGEST", 5)
    batch, _ = recorded("Pendulum-v1", tmp_path)
    batch.reset([1, 2])
    for _ in range(9):
        batch.step(np.zeros((2, 1), np.float32))
    played = batch.box.played()[0]
    assert (len(played.actions), played.is_whole) == (5, False)
    assert batch.state() is not None  # by its own attributes


def test_where_environments_cannot_be_saved_their_tape_is(tmp_path: Path) -> None:
    batch, _ = recorded("LunarLander-v3", tmp_path)
    batch.reset([1, 2])
    for action in range(4):
        batch.step(np.full(2, action))
    state = batch.state()
    assert state is not None
    assert [list(each["actions"]) for each in state["played"]] == [[0, 1, 2, 3]] * 2
    other, _ = recorded("LunarLander-v3", tmp_path / "other")
    other.reset([5, 6])
    other.load_state(state)
    expected, found = batch.step(np.array([2, 2])), other.step(np.array([2, 2]))
    np.testing.assert_array_equal(found.observations, expected.observations)
    assert other.box.played() == batch.box.played()


def test_an_environment_that_keeps_something_between_episodes_is_found_out(tmp_path: Path) -> None:
    name = "tests.failing_envs:Remembering-v0"
    batch, _ = recorded(name, tmp_path, envs=1)
    batch.reset([1])
    for _ in range(SEED_STEPS + 15):
        batch.step(np.zeros(1, np.int64))
    state = batch.state()
    assert state is not None
    other, _ = recorded(name, tmp_path / "other", envs=1)
    with pytest.raises(Unrepeatable, match="does not repeat itself"):
        other.load_state(state)


def test_only_the_first_faults_are_kept(tmp_path: Path) -> None:
    batch, kept = recorded("CartPole-v1", tmp_path)
    batch.reset([1, 2])
    inner: Any = batch.inner.step

    def faulty(actions: np.ndarray) -> Step:
        step: Step = inner(actions)
        return dataclasses.replace(step, faults=(Fault(1, "it broke"),))

    batch.inner.step = faulty  # type: ignore[method-assign]
    capsules = [batch.step(np.array([0, 1])).faults[0].capsule for _ in range(5)]
    assert capsules == ["capsule 1", "capsule 2", "capsule 3", "", ""]
    assert [played[0].index for played in kept] == [1, 1, 1]


def test_a_batch_that_is_closed_leaves_no_file(tmp_path: Path) -> None:
    batch, _ = recorded("CartPole-v1", tmp_path)
    batch.close()
    assert list(tmp_path.iterdir()) == []
