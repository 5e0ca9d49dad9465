"""Combinations that make no sense are refused with what would."""

import pytest

from hogwild.errors import UsageError
from hogwild.resolve import layer, resolve


def test_ppo_with_gradients_is_refused_and_its_neighbours_are_named() -> None:
    with pytest.raises(UsageError, match="Take --exchange weights, or trajectories"):
        resolve(layer("CartPole-v1", objective="ppo", exchange="gradients"))
