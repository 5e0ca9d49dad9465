"""Recurrent state survives the border between rollouts, in every exchange.

The environment counts its steps and the memory counts its forward passes, so that any shift between the border of a
rollout, the state stored with it, and the reset of the memory shows as an unequal integer.
"""

import time
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hogwild.objectives import A3C, PPO, VTrace
from hogwild.rollout import Rollout
from tests.cells.cells import CELLS, Cell, make_session
from tests.cells.test_contracts import running, work_until

pytestmark = pytest.mark.usefixtures("contract")


class CountingEnv(gymnasium.Env[np.ndarray, np.int64]):
    """What is seen is how many steps the episode has had; it ends by chance, or is cut off by chance."""

    observation_space = gymnasium.spaces.Box(0.0, 1e6, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:  # type: ignore[type-arg]
        super().reset(seed=seed, options=options)
        self.count = 0
        return np.array([0.0], dtype=np.float32), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.count += 1
        chance = self.np_random.random()
        return np.array([self.count], dtype=np.float32), 1.0, chance < 0.1, 0.1 <= chance < 0.2, {}


class CountingMemory(nn.Module):
    """Counts how often it was asked since the episode began; passes features through."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.outputs = inputs
        self.state_size = 1

    def forward(self, features: Tensor, state: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
        for starts in first:
            state = state * ~starts[:, None] + 1
        return features, state


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counting instead of remembering; every rollout that is learned from is checked, and its length kept."""
    gymnasium.register("Counting-v0", entry_point=CountingEnv)
    monkeypatch.setattr("hogwild.policies.policy.make_memory", lambda kind, inputs, units: CountingMemory(inputs))
    monkeypatch.setattr("hogwild.policies.policy.initialise", lambda *_: None)
    learned: list[int] = []
    for objective in (A3C, PPO, VTrace):
        usual = objective.minibatches

        def checked(self: Any, rollout: Rollout, generator: torch.Generator, usual: Any = usual) -> Iterator[Any]:
            check(rollout)
            learned.append(len(rollout.actions))
            return usual(self, rollout, generator)  # type: ignore[no-any-return]

        monkeypatch.setattr(objective, "minibatches", checked)
    yield learned  # type: ignore[misc]
    del gymnasium.registry["Counting-v0"]


def check(rollout: Rollout) -> None:
    count = rollout.state[:, 0]
    for seen, starts in zip(rollout.observations[:-1, :, 0], rollout.first[:-1], strict=True):
        count = count * ~starts
        assert torch.equal(seen, count)
        count = count + 1


@pytest.mark.parametrize("cell", [c for c in CELLS if c.engine in ("inline", "threads")], ids=str)
def test_recurrent_state_survives_the_rollout_border(cell: Cell, counting: list[int]) -> None:
    changes: dict[str, Any] = {"batch_rollouts": 2} if cell.exchange == "trajectories" else {}
    session = make_session(cell, "Counting-v0", memory="gru", envs=[2, 3], rollout_steps=[3, 5], **changes)
    with running(session) as reports:
        work_until(session, reports, 20)
        end = time.monotonic() + 30.0  # a thread may have begun late
        while not {3, 5} <= set(counting) and time.monotonic() < end:
            session.engine.poll(0.05)
        session.engine.stop()
    assert {3, 5} <= set(counting)
