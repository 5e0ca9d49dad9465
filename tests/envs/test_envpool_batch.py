"""Environments of EnvPool: the same as Gymnasium's, with the same contract as every other batch."""

import gymnasium
import numpy as np
import pytest

import hogwild
from hogwild.config.settings import EnvSettings, Settings
from hogwild.envs.batch import EnvBatch
from hogwild.envs.envpool_batch import EnvPoolBatch
from hogwild.envs.ids import EnvPlan
from hogwild.envs.make import make_batch
from hogwild.errors import UsageError
from hogwild.evaluation import evaluate
from hogwild.resolve import resolve

pytest.importorskip("envpool", reason="an extra, for Linux")
SETTINGS = EnvSettings(backend="envpool")


def make(name: str, envs: int) -> EnvBatch:
    batch = make_batch(EnvPlan(name), SETTINGS, envs)
    assert isinstance(batch, EnvPoolBatch)
    return batch


def test_what_it_lays_out_otherwise_is_refused() -> None:
    with pytest.raises(UsageError, match="observations are a tuple"):
        make("Blackjack-v1", 2)
    with pytest.raises(UsageError, match="which actions are allowed"):
        make("Taxi-v4", 2)


def test_a_step_is_the_one_of_gymnasium() -> None:
    batch, random = make("CartPole-v1", 4), np.random.default_rng(0)
    original = gymnasium.make("CartPole-v1").unwrapped
    before = batch.reset([1, 2, 3, 4]).copy()
    for _ in range(200):
        actions = random.integers(2, size=4)
        step = batch.step(actions)
        for index, action in enumerate(actions):
            original.reset()
            original.state = before[index].astype(np.float64)
            expected, reward, ended, _, _ = original.step(int(action))
            after = step.observations if step.final_observations is None else step.final_observations
            np.testing.assert_allclose(after[index], expected, atol=1e-5)
            assert (step.rewards[index], step.terminated[index]) == (reward, ended)
        before = step.observations.copy()


def test_an_environment_that_ends_starts_anew_within_the_step() -> None:
    batch = make("CartPole-v1", 3)
    batch.reset([0, 1, 2])
    ends = 0
    for _ in range(60):
        step = batch.step(np.array([1, 1, 0]))
        np.testing.assert_array_equal(step.game_over, step.terminated)
        for index in np.flatnonzero(step.terminated):
            ends += 1
            assert np.abs(step.observations[index]).max() <= 0.05  # where episodes begin
            assert step.final_observations is not None
            assert np.abs(step.final_observations[index]).max() > 0.05
    assert ends > 9


def test_the_time_limit_of_gymnasium_cuts_off() -> None:
    batch = make("Pendulum-v1", 2)
    batch.reset([0, 1])
    cut = [batch.step(np.zeros((2, 1))).truncated.any() for _ in range(400)]
    assert np.flatnonzero(cut).tolist() == [199, 399]


def test_seeds_decide_what_happens() -> None:
    def play(seeds: list[int]) -> np.ndarray:
        batch = make("LunarLander-v3", 2)
        first = batch.reset(seeds).copy()
        return np.stack([first, *(batch.step(np.array([2, 0])).observations.copy() for _ in range(30))])

    same, again, other = play([5, 2**40 + 6]), play([5, 2**40 + 6]), play([6, 5])
    np.testing.assert_array_equal(same, again)
    assert not np.array_equal(same, other)
    assert not np.array_equal(same[:, 0], same[:, 1])


@pytest.mark.parametrize(
    "name", ["LunarLanderContinuous-v3", "BipedalWalker-v3", "HalfCheetah-v5", "minigrid:MiniGrid-MemoryS7-v0"]
)
def test_what_a_policy_sees_and_does_is_laid_out_as_in_gymnasium(name: str) -> None:
    pooled, plain = make(name, 2), make_batch(EnvPlan(name), EnvSettings(), 2)
    assert pooled.spec == plain.spec
    seen = [batch.reset([1, 2]) for batch in (pooled, plain)]
    assert (seen[0].shape, seen[0].dtype) == (seen[1].shape, seen[1].dtype)
    shape = (2, *pooled.spec.action_shape)
    steps = [batch.step(np.zeros(shape, dtype=pooled.spec.action_dtype)) for batch in (pooled, plain)]
    assert (steps[0].observations.shape, steps[0].observations.dtype) == (seen[1].shape, seen[1].dtype)
    assert steps[0].rewards.dtype == steps[1].rewards.dtype


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ("pong", "in C\\+\\+ already"),
        ("hogwild/ProbeConstant-v0", "no environment of EnvPool 'hogwild/ProbeConstant-v0'"),
    ],
)
def test_what_it_does_not_have_is_refused(env: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        resolve(Settings().update(env=env, backend="envpool"))


@pytest.mark.learn
def test_an_agent_learns_in_it_and_is_evaluated_in_gymnasium(tmp_path: object) -> None:
    goal = {"until_return": 400.0, "steps": 1_000_000}
    run = hogwild.train("CartPole-v1", backend="envpool", workers=2, runs=str(tmp_path), **goal)
    assert run.status["reason"].startswith("solved")
    assert evaluate(hogwild.load(run), episodes=20, greedy=True).summary()["mean"] > 200
