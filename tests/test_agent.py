"""A trained agent: predicts for one or many, remembers what it is given back, and plays under other people's tools."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import hogwild
from hogwild.agent import Agent
from hogwild.errors import UsageError


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


def train(runs: Path, env: str, name: str, **settings: Any) -> Agent:
    few = {
        "steps": 256,
        "envs": 2,
        "rollout_steps": 16,
        "engine": "inline",
        "workers": 1,
        "runs": str(runs),
        "name": name,
    }
    return hogwild.load(hogwild.train(env, **few | settings))


@pytest.fixture(scope="module")
def plain(runs: Path) -> Agent:
    return train(runs, "CartPole-v1", "plain")


@pytest.fixture(scope="module")
def lstm(runs: Path) -> Agent:
    return train(runs, "CartPole-v1", "lstm", memory="lstm", memory_size=8)


def observations(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, 4)).astype(np.float32)


def test_one_observation_gives_one_action(plain: Agent) -> None:
    action, state = plain.predict(observations(1)[0], deterministic=True)
    assert np.shape(action) == ()
    assert action in (0, 1)
    assert state is None


@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_batch_gives_as_many_actions(plain: Agent, count: int) -> None:
    actions, _ = plain.predict(observations(count), deterministic=True)
    assert actions.shape == (count,)
    assert set(actions.tolist()) <= {0, 1}


def test_a_batch_is_answered_like_its_observations_one_by_one(plain: Agent) -> None:
    batch = observations(50)
    together, _ = plain.predict(batch, deterministic=True)
    alone = [int(plain.predict(observation, deterministic=True)[0]) for observation in batch]
    assert together.tolist() == alone
    assert set(alone) == {0, 1}


def test_decimals_of_another_precision_are_taken(plain: Agent) -> None:
    batch = observations(20)
    expected, _ = plain.predict(batch, deterministic=True)
    np.testing.assert_array_equal(plain.predict(batch.astype(np.float64), deterministic=True)[0], expected)


def test_deterministic_actions_repeat_and_sampled_ones_vary(plain: Agent) -> None:
    one = np.repeat(observations(1), 500, axis=0)
    assert len(set(plain.predict(one, deterministic=True)[0].tolist())) == 1
    assert set(plain.predict(one)[0].tolist()) == {0, 1}


def test_sampled_actions_follow_the_probabilities(plain: Agent) -> None:
    import torch

    one = np.repeat(observations(1, seed=3), 4000, axis=0)
    with torch.no_grad():
        first = torch.ones(1, 1, dtype=torch.bool)
        out = plain.policy(torch.from_numpy(one[:1])[None], plain.policy.initial_state(1), first)
    assert plain.predict(one)[0].mean() == pytest.approx(float(out.parameters[0, 0, 1].exp()), abs=0.03)


def test_agents_with_the_same_seed_sample_the_same(plain: Agent, runs: Path) -> None:
    batch = observations(200)
    sampled = [hogwild.load("plain", runs=str(runs), seed=seed).predict(batch)[0].tolist() for seed in (5, 5, 6)]
    assert sampled[0] == sampled[1] != sampled[2]


@pytest.mark.parametrize("shape", [(), (3,), (5, 3), (2, 3, 3)])
def test_observations_of_another_shape_are_refused(plain: Agent, shape: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match=r"observations of shape \(4,\)"):
        plain.predict(np.zeros(shape, np.float32))


def test_memory_is_handed_out_and_taken_back(lstm: Agent) -> None:
    first, second = observations(3, seed=1), observations(3, seed=2)
    _, state = lstm.predict(first)
    assert state is not None
    assert state[0].shape == (3, 16)
    _, with_memory = lstm.predict(second, state)
    _, without = lstm.predict(second, None)
    _, again = lstm.predict(second, state)
    assert with_memory is not None
    assert without is not None
    assert again is not None
    np.testing.assert_array_equal(with_memory[0], again[0])
    assert not np.allclose(with_memory[0], without[0])


def test_the_start_of_an_episode_empties_the_memory_of_that_row_only(lstm: Agent) -> None:
    first, second = observations(3, seed=1), observations(3, seed=2)
    _, state = lstm.predict(first)
    starts = np.array([False, True, False])
    _, mixed = lstm.predict(second, state, starts)
    _, kept = lstm.predict(second, state)
    _, fresh = lstm.predict(second)
    assert mixed is not None
    assert kept is not None
    assert fresh is not None
    np.testing.assert_array_equal(mixed[0][1], fresh[0][1])
    np.testing.assert_array_equal(mixed[0][[0, 2]], kept[0][[0, 2]])
    assert not np.allclose(mixed[0][1], kept[0][1])


def test_memory_works_for_a_single_observation_too(lstm: Agent) -> None:
    one, two = observations(2)
    _, state = lstm.predict(one, episode_start=np.array([True]))
    action, following = lstm.predict(two, state, episode_start=np.array([False]), deterministic=True)
    batch, _ = lstm.predict(two[None], state, deterministic=True)
    assert np.shape(action) == ()
    assert action == batch[0]
    assert following is not None
    assert following[0].shape == (1, 16)


def test_predicting_does_not_change_the_state_it_was_given(lstm: Agent) -> None:
    _, state = lstm.predict(observations(2))
    assert state is not None
    before = state[0].copy()
    lstm.predict(observations(2, seed=9), state, np.array([True, False]))
    np.testing.assert_array_equal(state[0], before)


def test_an_agent_knows_where_it_comes_from(plain: Agent, runs: Path) -> None:
    assert plain.steps == 256
    assert plain.source == runs / "plain" / "checkpoints" / "step-000000000256"
    assert plain.make_env().spec.id == "CartPole-v1"  # type: ignore[union-attr]


@pytest.mark.filterwarnings("ignore:Evaluation environment is not wrapped with a ``Monitor`` wrapper")
@pytest.mark.parametrize("kind", ["plain", "lstm"])
@pytest.mark.parametrize("deterministic", [True, False])
def test_stable_baselines3_evaluates_an_agent_unchanged(
    kind: str, deterministic: bool, request: pytest.FixtureRequest
) -> None:
    from stable_baselines3.common.evaluation import evaluate_policy

    agent = request.getfixturevalue(kind)
    returns, lengths = evaluate_policy(
        agent, agent.make_env(), n_eval_episodes=4, deterministic=deterministic, return_episode_rewards=True
    )
    assert len(returns) == 4
    assert returns == lengths  # CartPole gives 1 for every step
    assert min(returns) >= 8


class Odd(gymnasium.Env[np.ndarray, np.int64]):
    """An environment with an unusual space: 1 for the last of its actions, 5 steps a game."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, observation: Any, action: Any, render_mode: str | None = None) -> None:
        self.observation_space, self.action_space = observation, action
        self.render_mode = render_mode
        self.time = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.time = 0
        return self._seen(), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        self.time += 1
        best = self.action_space.start + self.action_space.n - 1  # type: ignore[attr-defined]
        return self._seen(), float(action == best), self.time == 5, False, {}

    def _seen(self) -> np.ndarray:
        return np.full(self.observation_space.shape, self.time, dtype=self.observation_space.dtype)


PICTURE = {"low": 0, "high": 255, "dtype": np.uint8}
SPACES = {
    "plain picture": (gymnasium.spaces.Box(shape=(24, 24), **PICTURE), gymnasium.spaces.Discrete(2)),  # type: ignore[arg-type]
    "channels last": (gymnasium.spaces.Box(shape=(24, 20, 3), **PICTURE), gymnasium.spaces.Discrete(2)),  # type: ignore[arg-type]
    "channels first": (gymnasium.spaces.Box(shape=(2, 24, 20), **PICTURE), gymnasium.spaces.Discrete(2)),  # type: ignore[arg-type]
    "table": (gymnasium.spaces.Box(-9.0, 9.0, (3, 2), np.float32), gymnasium.spaces.Discrete(2)),
    "row": (gymnasium.spaces.Box(-9.0, 9.0, (1, 4), np.float32), gymnasium.spaces.Discrete(2)),
    "actions from 5": (gymnasium.spaces.Box(-9.0, 9.0, (3,), np.float32), gymnasium.spaces.Discrete(2, start=5)),
}


@pytest.fixture(params=SPACES)
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    observation, action = SPACES[request.param]
    gymnasium.register("Odd-v0", lambda **options: Odd(observation, action, **options))
    yield train(tmp_path, "Odd-v0", "odd", steps=64)
    del gymnasium.registry["Odd-v0"]


def test_an_agent_plays_its_own_environment_whatever_its_spaces(odd: Agent) -> None:
    env = odd.make_env()
    observation, _ = env.reset(seed=0)
    for _ in range(5):
        action, _ = odd.predict(observation)
        assert env.action_space.contains(action)
        observation, _, ended, _, _ = env.step(action)
    assert ended


@pytest.mark.filterwarnings("ignore:Evaluation environment is not wrapped with a ``Monitor`` wrapper")
def test_stable_baselines3_plays_it_too_whatever_its_spaces(odd: Agent) -> None:
    from stable_baselines3.common.evaluation import evaluate_policy

    _, lengths = evaluate_policy(odd, odd.make_env(), n_eval_episodes=2, return_episode_rewards=True)  # type: ignore[arg-type]
    assert lengths == [5, 5]
