"""Advantages and value targets, with ends of episodes in every position, from the values that acting recorded."""

import dataclasses
import math

import pytest
import torch
from by_hand import ENDS, GAMMA, LAMBDA, make_rollout, normalised_by_hand, rollout_with_ends, target_by_hand

from hogwild.objectives.targets import Targets, standardise


@pytest.mark.parametrize("ends", ENDS, ids="-".join)
@pytest.mark.parametrize("returns", ["gae", "n-step", "monte-carlo"])
@pytest.mark.parametrize("gae_lambda", [0.0, LAMBDA, 1.0])
def test_every_step_is_judged_by_what_followed_it(ends: tuple[str, ...], returns: str, gae_lambda: float) -> None:
    rollout = rollout_with_ends(ends)
    targets = Targets(GAMMA, returns, gae_lambda)
    advantage, target, known = targets.estimate(rollout)
    for t in range(len(ends)):
        expected_target, expected_advantage = target_by_hand(rollout, targets, t, 0)
        assert known[t, 0].item() == (expected_target is not None)
        if expected_target is not None:
            assert target[t, 0].item() == pytest.approx(expected_target, rel=1e-10)
            assert advantage[t, 0].item() == pytest.approx(expected_advantage, rel=1e-10)


@pytest.mark.parametrize("returns", ["gae", "n-step"])
@pytest.mark.parametrize("at", range(3))
def test_a_truncated_episode_counts_the_value_of_its_real_last_observation(returns: str, at: int) -> None:
    """What it saw is worth one more: so is every step that led there, discounted; and no other step."""
    rollout = rollout_with_ends(tuple("truncated" if t == at else "no" for t in range(3)))
    more = rollout.final_value.clone()
    more[at] += 1.0
    targets = Targets(GAMMA, returns, LAMBDA)
    lam = LAMBDA if returns == "gae" else 1.0
    change = [GAMMA * (GAMMA * lam) ** (at - t) if t <= at else 0.0 for t in range(3)]
    plain, raised = targets.estimate(rollout), targets.estimate(dataclasses.replace(rollout, final_value=more))
    for before, after in zip(plain[:2], raised[:2], strict=True):
        assert (after - before).flatten().tolist() == pytest.approx(change)


@pytest.mark.parametrize("returns", ["gae", "n-step"])
@pytest.mark.parametrize("end", ["no", "terminated", "truncated"])
def test_only_an_episode_that_goes_on_counts_the_value_of_what_comes_after_the_rollout(returns: str, end: str) -> None:
    rollout = rollout_with_ends(("no", "no", end))
    other = rollout.values.clone()
    other[-1] += 1.0
    targets = Targets(GAMMA, returns, LAMBDA)
    _, plain, _ = targets.estimate(rollout)
    _, raised, _ = targets.estimate(dataclasses.replace(rollout, values=other))
    assert (plain != raised).flatten().tolist() == [end == "no"] * 3


def test_standardised_advantages_have_mean_zero_and_deviation_one_over_the_known_steps() -> None:
    advantage, _, known = Targets(returns="monte-carlo").estimate(make_rollout())
    assert 2 < known.sum() < known.numel()
    found = standardise(advantage, known)
    assert found[known].mean().item() == pytest.approx(0.0, abs=1e-12)
    assert found[known].std(correction=0).item() == pytest.approx(1.0, rel=1e-6)
    places = {(t, n): advantage[t, n].item() for t, n in known.nonzero().tolist()}
    for place, expected in normalised_by_hand(places).items():
        assert found[place].item() == pytest.approx(expected, rel=1e-10)


def test_a_single_advantage_is_left_as_it_is() -> None:
    advantage = torch.tensor([[3.0], [math.inf]])
    assert standardise(advantage, torch.tensor([[True], [False]]))[0].item() == 3.0
