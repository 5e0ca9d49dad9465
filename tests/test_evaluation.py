"""Evaluation: fixed shares, raw scores, the same figures for the same seed."""

import dataclasses
import math
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

import hogwild
from hogwild import evaluation
from hogwild.agent import Agent
from hogwild.config.settings import Settings
from hogwild.envs.batch import Fault
from hogwild.envs.gymnasium_batch import GymnasiumBatch
from hogwild.envs.ids import EnvPlan, plan_env
from hogwild.errors import EnvironmentFailed
from hogwild.evaluation import MOST_ENVS, Evaluation, Player, evaluate
from hogwild.policies.distributions import Choice
from hogwild.policies.policy import Output


class Uneven(gymnasium.Env[np.ndarray, np.int64]):
    """Games of a fixed length that differs from one environment to the next; each step earns the action."""

    def __init__(self, length: int) -> None:
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.length = length
        self.time = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.time = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.time += 1
        return np.zeros(1, np.float32), float(action), self.time >= self.length, False, {}


class FakePolicy:
    """Remembers where it was told that episodes begin."""

    def __init__(self, actions: int) -> None:
        self.actions = Choice(actions)
        self.logits = 1e-5 * torch.arange(actions)
        self.starts: list[list[bool]] = []

    def initial_state(self, n: int) -> torch.Tensor:
        return torch.zeros(n, 0)

    def __call__(self, observations: torch.Tensor, state: torch.Tensor, first: torch.Tensor) -> Output:
        self.starts.append(first[0].tolist())
        parameters = self.actions.parameters(self.logits.expand(*first.shape, -1), None)
        return Output(parameters, torch.zeros(first.shape), state)


class Fake:
    """An agent that takes every action as often when sampling, and the last one when greedy."""

    choose = Agent.choose

    def __init__(self, actions: int = 2) -> None:
        self.policy = FakePolicy(actions)
        self.plan = EnvPlan("Uneven-v0")
        self.settings = Settings()
        self.carried: list[dict[str, float]] = []
        self.generator = torch.Generator()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The first environment plays games of one step, the second of two, and so on."""

    def make(plan: EnvPlan, settings: Any, envs: int, threads: int = 1) -> GymnasiumBatch:
        lengths = count(1)
        return GymnasiumBatch(plan.id, lambda: Uneven(next(lengths)), envs)

    monkeypatch.setattr(evaluation, "make_batch", make)
    return Fake()


def test_every_environment_plays_its_share_however_short_its_games(fake: Any) -> None:
    result = evaluate(fake, 2 * MOST_ENVS, greedy=True)
    assert sorted(result.lengths) == sorted(2 * list(range(1, MOST_ENVS + 1)))
    assert result.returns == [float(length) for length in result.lengths]


@pytest.mark.parametrize("episodes", [1, 3, MOST_ENVS, MOST_ENVS + 1, 2 * MOST_ENVS - 1])
def test_exactly_as_many_games_are_played_as_asked_for(fake: Any, episodes: int) -> None:
    result = evaluate(fake, episodes, greedy=True)
    assert len(result.returns) == len(result.lengths) == episodes
    played = [result.lengths.count(length) for length in range(1, min(episodes, MOST_ENVS) + 1)]
    assert max(played) - min(played) <= 1
    assert played == sorted(played, reverse=True)


def test_greedy_sampled_and_epsilon_play_differently(fake: Any) -> None:
    def share_of_ones(**how: Any) -> float:
        result = evaluate(fake, 100, **how)
        return sum(result.returns) / sum(result.lengths)

    assert share_of_ones(greedy=True) == 1.0
    assert share_of_ones() == pytest.approx(0.5, abs=0.06)
    assert share_of_ones(epsilon=0.5) == pytest.approx(0.75, abs=0.06)
    assert share_of_ones(epsilon=1.0) == pytest.approx(0.5, abs=0.06)


def test_what_costs_nothing_in_training_costs_nothing_here(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    step = GymnasiumBatch.step
    faults = (Fault(0, "it left its observation space", is_harmless=True),)
    monkeypatch.setattr(GymnasiumBatch, "step", lambda *given: dataclasses.replace(step(*given), faults=faults))
    assert len(evaluate(fake, 3).returns) == 3
    faults += (Fault(1, "it raised"),)
    with pytest.raises(EnvironmentFailed, match="it raised"):
        evaluate(fake, 3)


@pytest.mark.parametrize(
    ("how", "words"), [({}, "sampled"), ({"greedy": True}, "greedy"), ({"epsilon": 0.05}, "greedy, 0.05 random")]
)
def test_how_actions_were_chosen_is_told(fake: Any, how: dict[str, Any], words: str) -> None:
    assert evaluate(fake, 1, **how).summary()["actions"] == words


def test_the_agent_is_told_where_episodes_begin(fake: Any) -> None:
    evaluate(fake, 3, greedy=True)
    assert fake.policy.starts == [[True, True, True], [True, False, False], [True, True, False]]


def test_every_game_is_announced_as_it_ends(fake: Any) -> None:
    heard: list[tuple[int, float]] = []
    evaluate(fake, 4, greedy=True, on_episode=lambda number, score: heard.append((number, score)))
    assert heard == [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0)]


def test_random_actions_are_drawn_from_all() -> None:
    fake: Any = Fake(actions=5)
    player = Player(fake, 2000, greedy=False, epsilon=1.0, seed=0)
    actions = player.act(np.zeros((2000, 1), np.float32), np.zeros(2000, dtype=bool))
    assert np.bincount(actions, minlength=5).min() > 300


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Agent:
    runs: Path = tmp_path_factory.mktemp("runs")
    few: dict[str, Any] = {"steps": 256, "envs": 2, "engine": "inline", "workers": 1, "runs": str(runs)}
    return hogwild.load(hogwild.train("CartPole-v1", **few))


@pytest.mark.parametrize("how", [{}, {"greedy": True}, {"epsilon": 0.3}], ids=str)
def test_the_same_seed_gives_the_same_games_and_another_seed_others(agent: Agent, how: dict[str, Any]) -> None:
    first, again, other = (evaluate(agent, 3, seed=seed, **how) for seed in (1, 1, 2))
    assert first == again
    assert first.returns != other.returns


def test_the_summary_agrees_with_numpy() -> None:
    returns = [float(x) for x in np.random.default_rng(0).normal(100, 20, size=40)]
    summary = Evaluation(returns, list(range(40)), "sampled").summary()
    assert summary["episodes"] == 40
    assert summary["mean"] == pytest.approx(np.mean(returns))
    assert summary["median"] == pytest.approx(np.median(returns))
    assert (summary["best"], summary["worst"]) == (max(returns), min(returns))
    assert summary["length_mean"] == pytest.approx(19.5)
    t = 2.0226909  # Student's t for 39 degrees of freedom, two-sided 95 %
    assert summary["interval_95"] == pytest.approx(t * np.std(returns, ddof=1) / math.sqrt(40), rel=1e-3)


def test_one_game_has_no_interval_that_could_be_trusted() -> None:
    interval = Evaluation([5.0], [1], "sampled").summary()["interval_95"]
    assert interval is None or math.isnan(interval)


def test_a_lost_life_does_not_end_a_game_that_is_evaluated() -> None:
    plan = plan_env(Settings().update(env="BreakoutDeterministic-v4"))
    assert plan.protocol is not None
    assert plan.protocol.life_loss
    whole = plan.of_whole_games()
    assert whole.protocol is not None
    assert not whole.protocol.life_loss
    assert whole.protocol.frame_skip == plan.protocol.frame_skip
    assert EnvPlan("CartPole-v1").of_whole_games() == EnvPlan("CartPole-v1")


def test_the_environments_are_closed_afterwards(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[SimpleNamespace] = []
    monkeypatch.setattr(GymnasiumBatch, "close", lambda self: closed.append(self))
    evaluate(fake, 2)
    assert len(closed) == 1
