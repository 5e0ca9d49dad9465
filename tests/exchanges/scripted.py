"""Shared numbers small enough to be checked by hand."""

from typing import Any

import torch

from hogwild.config.settings import PolicySettings, Settings
from hogwild.exchanges.make import make_shared
from hogwild.exchanges.shared import READY, SharedWeights
from hogwild.learning import Gradients
from hogwild.policies.policy import Policy
from hogwild.policies.spec import PolicySpec, choice
from hogwild.rollout import Played, Rollout

VECTOR = PolicySpec((4,), "float32", choice(2))
# Statistics frozen at one: an update then moves the weights by the learning rate times the gradient.
PLAIN = Settings().update(
    optimizer="rmsprop-tf", rms_decay=1.0, epsilon=1e-12, learning_rate=1.0, max_grad_norm=0.0, workers=2
)


def make(**changes: Any) -> tuple[Settings, SharedWeights]:
    """Settings, and what they share."""
    settings = PLAIN.update(**changes)
    torch.manual_seed(0)
    shared = make_shared(settings, Policy(VECTOR, PolicySettings()))
    shared.counters[READY] = 1
    return settings, shared


def gradients(shared: SharedWeights, value: float = 1.0, version: int = 0, steps: int = 10) -> Gradients:
    """The same gradient for every weight."""
    flat = torch.full((shared.layout.num_parameters,), value)
    return Gradients(flat, steps, (Played(version),))


def moved(shared: SharedWeights, before: torch.Tensor) -> float:
    """How far all weights have moved; they must have moved alike."""
    distance = (before - shared.weights)[: shared.layout.num_parameters]
    torch.testing.assert_close(distance, distance[:1].expand_as(distance), rtol=1e-4, atol=1e-4)
    return round(distance[0].item(), 4)


def make_rollout(steps: int, envs: int, version: int = 0, value: float = 0.0) -> Rollout:
    """A rollout in which every number says where it stands."""
    t, n = torch.arange(steps + 1.0)[:, None], torch.arange(float(envs))
    place = value + 100 * t + n
    return Rollout(
        observations=place[..., None].expand(-1, -1, 4).clone(),
        actions=torch.ones(steps, envs, dtype=torch.int64),
        log_probs=-place[:-1],
        values=place,
        rewards=place[:-1] / 7,
        terminated=torch.zeros(steps, envs, dtype=torch.bool),
        truncated=torch.zeros(steps, envs, dtype=torch.bool),
        final_value=torch.zeros(steps, envs),
        first=torch.zeros(steps + 1, envs, dtype=torch.bool),
        state=torch.zeros(envs, 0),
        played=(Played(version, 1.5),),
    )
