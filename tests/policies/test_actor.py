"""The head for actions that are numbers: deviations, free or by state, where they start and how small they get."""

import math
from typing import Any

import pytest
import torch

from hogwild.config.settings import PolicySettings
from hogwild.policies.flat import FlatLayout
from hogwild.policies.policy import Policy
from hogwild.policies.spec import ActionPart, PolicySpec

SPEC = PolicySpec((3,), "float32", (ActionPart("choice", 2), ActionPart("numbers", 2), ActionPart("numbers", 1)))


def answer(**settings: Any) -> tuple[Policy, torch.Tensor]:
    torch.manual_seed(0)
    policy = Policy(SPEC, PolicySettings(encoder="mlp", **settings))
    seen = torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(1))
    return policy, policy(seen, policy.initial_state(5), torch.zeros(4, 5, dtype=torch.bool)).parameters


@pytest.mark.parametrize("by_state", [False, True])
def test_deviations_start_where_they_should(by_state: bool) -> None:
    _, parameters = answer(deviation=0.5, deviation_by_state=by_state)
    assert parameters.shape == (4, 5, 2 + 4 + 2)
    deviations = parameters[..., [4, 5, 7]].exp()
    assert deviations.mean().item() == pytest.approx(0.5, abs=0.02)
    assert (deviations.flatten(0, 1).std(0) > 0).all().item() == by_state


def test_a_free_deviation_is_learned_and_lies_among_the_weights() -> None:
    policy, parameters = answer()
    assert "actor.log_deviation" in FlatLayout(policy).slices
    (gradient,) = torch.autograd.grad(policy.actions.entropy(parameters).sum(), [policy.actor.log_deviation])
    assert gradient.tolist() == [20.0] * 3
    assert "actor.log_deviation" not in FlatLayout(answer(deviation_by_state=True)[0]).slices


def test_no_deviation_is_below_the_floor() -> None:
    policy, _ = answer(deviation=1e-6, deviation_floor=0.242)
    out = policy(torch.zeros(1, 1, 3), policy.initial_state(1), torch.zeros(1, 1, dtype=torch.bool)).parameters
    assert out[..., [4, 5, 7]].exp().tolist() == [[pytest.approx([0.242] * 3, rel=1e-4)]]
    narrow = out[0, 0, [4, 5, 7]].sum().item() + 3 * (0.5 * math.log(2 * math.pi) + 0.5)
    assert narrow >= -1e-3
