"""Rewards as they are learned from."""

import numpy as np
import pytest
import torch

from hogwild.envs.rewards import Rewards
from hogwild.policies.normalisers import RewardNormaliser

NOBODY = np.zeros(2, dtype=bool)


def test_rewards_are_scaled_before_they_are_clipped_and_held_above_the_floor() -> None:
    raw = np.array([-100.0, 30.0], np.float32)
    assert Rewards(2, scale=0.1).take(raw, NOBODY).tolist() == [-10.0, 3.0]
    assert Rewards(2, scale=0.1, clip=2.0).take(raw, NOBODY).tolist() == [-2.0, 2.0]
    assert Rewards(2, scale=1.5, floor=-20.0).take(raw, NOBODY).tolist() == [-20.0, 45.0]
    assert Rewards(2, clip=50.0, floor=-20.0).take(raw, NOBODY).tolist() == [-20.0, 30.0]


def test_normalised_rewards_are_divided_by_the_deviation_that_comes_with_the_weights() -> None:
    normaliser = RewardNormaliser()
    rewards = Rewards(2, normaliser=normaliser)
    rewards.begin()
    assert rewards.take(np.array([1.0, -4.0]), NOBODY).tolist() == [1.0, -4.0]
    normaliser.deviation.copy_(torch.tensor([2.0]))
    assert rewards.take(np.array([1.0, -4.0]), NOBODY).tolist() == [1.0, -4.0], "a rollout keeps what it began with"
    rewards.begin()
    assert rewards.take(np.array([1.0, -4.0]), NOBODY).tolist() == [0.5, -2.0]


def test_the_sums_are_the_discounted_returns_of_each_episode() -> None:
    rewards = Rewards(2, scale=2.0, discount=0.5, normaliser=RewardNormaliser())
    rewards.begin()
    for raw, ended in (([1, 1], [False, True]), ([1, 1], [False, False]), ([1, 1], [True, False])):
        rewards.take(np.array(raw, np.float32), np.array(ended))
    assert np.stack(rewards.sums).tolist() == [[2.0, 2.0], [3.0, 2.0], [3.5, 3.0]]
    rewards.begin()
    rewards.take(np.array([1.0, 1.0]), NOBODY)
    assert np.stack(rewards.sums).tolist() == [[2.0, pytest.approx(3.5)]], "episodes go on over the borders of rollouts"
