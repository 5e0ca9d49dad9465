"""How good an agent is: whole games, raw scores, under the preprocessing it was trained with."""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch

from hogwild.agent import Agent
from hogwild.envs.make import make_batch
from hogwild.errors import EnvironmentFailed
from hogwild.machine import available_cores
from hogwild.maths.statistics import mean_with_interval
from hogwild.threads import one_torch_thread
from hogwild.worker import worker_seeds

MOST_ENVS = 20  # building an emulator takes a quarter of a second
EVALUATION_SEEDS = 0xE7A1  # apart from every worker's


@dataclass(frozen=True)
class Evaluation:
    """Returns of whole games, and their summary."""

    returns: list[float]
    lengths: list[int]
    how: str

    def summary(self) -> dict[str, Any]:
        """The figures to report."""
        mean, interval = mean_with_interval(self.returns)
        return {
            "episodes": len(self.returns),
            "mean": mean,
            "interval_95": None if math.isnan(interval) else interval,
            "deviation": float(np.std(self.returns)),
            "median": float(np.median(self.returns)),
            "best": max(self.returns),
            "worst": min(self.returns),
            "length_mean": float(np.mean(self.lengths)),
            "actions": self.how,
        }


def evaluate(
    agent: Agent,
    episodes: int = 100,
    *,
    greedy: bool = False,
    epsilon: float = 0.0,
    seed: int = 0,
    on_episode: Callable[[int, float], None] | None = None,
) -> Evaluation:
    """Play so many whole games. Every environment plays its fixed share, so that short games are not over-counted.

    >>> import tempfile, hogwild
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = hogwild.train("CartPole-v1", steps=200, engine="inline", workers=1, runs=folder)
    ...     len(evaluate(hogwild.load(run), episodes=3).returns)
    3
    """
    envs = min(episodes, MOST_ENVS)
    quota = np.full(envs, episodes // envs)
    quota[: episodes % envs] += 1
    seeds = worker_seeds(seed, EVALUATION_SEEDS, 0, envs + 1)
    played = dataclasses.replace(agent.settings.environment, backend="gymnasium")  # the original, whatever trained it
    batch = make_batch(agent.plan.of_whole_games(), played, envs, threads=available_cores())
    batch.load_carried(agent.carried)
    player = Player(agent, envs, greedy, epsilon, seeds[0])
    returns: list[list[float]] = [[] for _ in range(envs)]
    lengths: list[list[int]] = [[] for _ in range(envs)]
    score, length = np.zeros(envs), np.zeros(envs, dtype=np.int64)
    observations, first = batch.reset(seeds[1:]), np.ones(envs, dtype=bool)
    while any(len(returns[i]) < quota[i] for i in range(envs)):
        step = batch.step(player.act(observations, first))
        for fault in step.faults:
            if not fault.is_harmless:
                raise EnvironmentFailed(fault.what)
        observations, first = step.observations, step.terminated | step.truncated
        score += step.rewards
        length += 1
        for i in np.flatnonzero(step.game_over):
            if len(returns[i]) < quota[i]:
                returns[i].append(float(score[i]))
                lengths[i].append(int(length[i]))
                if on_episode is not None:
                    on_episode(sum(map(len, returns)), float(score[i]))
            score[i] = length[i] = 0
    batch.close()
    return Evaluation(list(chain(*returns)), list(chain(*lengths)), player.describe())


class Player:
    """Chooses actions for a batch: sampled as in training, greedy, or greedy with a share of random ones."""

    def __init__(self, agent: Agent, envs: int, greedy: bool, epsilon: float, seed: int) -> None:
        self.agent = agent
        self.greedy = greedy or epsilon > 0
        self.epsilon = epsilon
        self.random = np.random.default_rng(seed)
        agent.generator.manual_seed(seed)
        self.memory = agent.policy.initial_state(envs)
        self.envs = envs

    def act(self, observations: np.ndarray, first: np.ndarray) -> np.ndarray:
        """One action for each environment."""
        with one_torch_thread(), torch.no_grad():
            out = self.agent.policy(torch.from_numpy(observations)[None], self.memory, torch.from_numpy(first)[None])
            self.memory = out.state
            actions = self.agent.choose(out.parameters[0], self.greedy)
            if self.epsilon:
                explore = self.random.random(self.envs) < self.epsilon
                random = self.agent.policy.actions.indifferent(out.parameters[0])
                actions[explore] = self.agent.choose(random)[explore]
        return actions

    def describe(self) -> str:
        """How actions are chosen, in words."""
        if self.epsilon:
            return f"greedy, {self.epsilon:g} random"
        return "greedy" if self.greedy else "sampled"
