"""What workers send of what they saw, and the means and deviations that come of it."""

import numpy as np
import pytest
import torch

from hogwild.config.settings import PolicySettings, Settings
from hogwild.exchanges.shared import READY, SharedWeights
from hogwild.exchanges.tape import Lock
from hogwild.exchanges.weights import WeightsLink
from hogwild.input_sums import InputSummer
from hogwild.policies.policy import Policy
from hogwild.policies.spec import ObservationPart, PolicySpec, choice
from hogwild.rollout import Played, Rollout

PARTS = (ObservationPart("p", (1, 20, 20), 255.0), ObservationPart("v", (3,)))
DICT = PolicySpec((403 + 2,), "float32", choice(2), PARTS, is_masked=True)
VECTOR = PolicySpec((3,), "float32", choice(2))


def rollout_of(observations: torch.Tensor) -> Rollout:
    steps, envs = observations.shape[0] - 1, observations.shape[1]
    empty = torch.zeros(steps, envs)
    return Rollout(
        observations=observations,
        actions=empty.long(),
        log_probs=empty,
        values=torch.zeros(steps + 1, envs),
        rewards=empty,
        terminated=empty.bool(),
        truncated=empty.bool(),
        final_value=empty,
        first=torch.zeros(steps + 1, envs, dtype=torch.bool),
        state=torch.zeros(envs, 0),
        played=(Played(0),),
    )


def random_observations(spec: PolicySpec, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 50 * torch.rand(9, 4, *spec.observation_shape, generator=generator) + 7


@pytest.mark.parametrize("spec", [VECTOR, DICT], ids=["vector", "dict"])
@pytest.mark.parametrize("normalise", ["frozen", "running"])
def test_all_workers_add_to_one_estimate(spec: PolicySpec, normalise: str) -> None:
    settings = Settings().update(normalise=normalise, normalise_rewards=True, normalise_steps=50, workers=2)
    policy = Policy(spec, settings.policy)
    shared = SharedWeights(policy, settings)
    assert shared.counter(READY) == 0
    summer = InputSummer(policy)
    seen, returns = [], []
    for rank in range(2):
        observations = random_observations(spec, rank)
        own = [np.full(4, 3.0 * rank + t) for t in range(8)]
        WeightsLink(shared, settings, rank, Lock()).push(summer.add_up(rollout_of(observations), own, steps=32))
        seen.append(observations[:-1].flatten(0, 1))
        returns += own
    assert shared.counter(READY) == 1
    views = dict(shared.layout.views(shared.weights))
    everything = torch.cat(seen).double()
    vectors = everything[:, -5:-2] if spec is DICT else everything
    name = "encoder.vector.normaliser" if spec is DICT else "encoder.normaliser"
    torch.testing.assert_close(views[f"{name}.mean"].double(), vectors.mean(0), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(views[f"{name}.deviation"].double(), vectors.std(0, correction=0), rtol=1e-4, atol=1e-4)
    if spec is DICT:
        pictures = everything[:, :400]
        mean = views["encoder.pictures.0.convolutions.0.mean"]
        torch.testing.assert_close(mean.flatten().double(), pictures.mean(0), rtol=1e-5, atol=1e-5)
        deviation = views["encoder.pictures.0.convolutions.0.deviation"].item()
        assert deviation == pytest.approx(pictures.var(0, correction=0).mean().sqrt().item(), rel=1e-4)
    assert views["rewards.deviation"].item() == pytest.approx(np.std(np.concatenate(returns)), rel=1e-5)


def test_frozen_means_stay_and_running_ones_follow_while_rewards_always_do() -> None:
    for normalise in ("frozen", "running"):
        settings = Settings().update(normalise=normalise, normalise_rewards=True, normalise_steps=10)
        policy = Policy(VECTOR, settings.policy)
        shared = SharedWeights(policy, settings)
        link, summer = WeightsLink(shared, settings, 0, Lock()), InputSummer(policy)
        assert summer.is_running
        views = dict(shared.layout.views(shared.weights))
        found = []
        for value in (1.0, 3.0):
            seen = rollout_of(torch.full((9, 4, 3), value))
            link.push(summer.add_up(seen, [np.array([-value, value])] * 16, steps=0))
            found.append((views["encoder.normaliser.mean"][0].item(), views["rewards.deviation"].item()))
        assert found[0] == (1.0, 1.0)
        assert found[1][0] == (1.0 if normalise == "frozen" else pytest.approx(2.0, abs=1e-3))
        assert found[1][1] == pytest.approx(np.sqrt(5.0), rel=1e-3)


def test_what_is_not_normalised_is_not_waited_for() -> None:
    policy = Policy(VECTOR, PolicySettings())
    assert policy.normalised() == []
    assert SharedWeights(policy, Settings().update(workers=1)).counter(READY) == 1
    assert not InputSummer(policy).is_running


def test_a_number_that_never_changes_is_not_blown_up() -> None:
    settings = Settings().update(normalise="frozen", normalise_steps=1)
    policy = Policy(VECTOR, settings.policy)
    shared = SharedWeights(policy, settings)
    summer = InputSummer(policy)
    WeightsLink(shared, settings, 0, Lock()).push(summer.add_up(rollout_of(torch.full((9, 4, 3), 5.0)), [], 0))
    layout = shared.layout
    bound = layout.bind(policy)
    bound.copy_(shared.weights)
    encoder = policy.encoder
    assert encoder.normaliser(torch.full((1, 3), 5.0)).abs().max().item() == 0.0  # type: ignore[union-attr,operator]
    assert encoder.normaliser(torch.full((1, 3), 9.0)).max().item() == 4.0  # type: ignore[union-attr,operator]
