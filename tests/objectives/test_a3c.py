"""The A3C loss against a slow version that follows the equations step by step."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from by_hand import (
    GAMMA,
    LAMBDA,
    N,
    T,
    assert_same_loss_and_gradient,
    entropy_by_hand,
    gradient_of,
    loss_of,
    make_policy,
    make_rollout,
    normalised_by_hand,
    target_by_hand,
    total_by_hand,
    value_error_by_hand,
)
from torch import Tensor

from hogwild.config.settings import Settings
from hogwild.objectives import make_objective
from hogwild.objectives.a3c import A3C
from hogwild.objectives.figures import explained_variance
from hogwild.objectives.targets import Targets
from hogwild.objectives.terms import Terms
from hogwild.policies.policy import Policy
from hogwild.rollout import Rollout


def loss_by_hand(policy: Policy, r: Rollout, a3c: A3C) -> Tensor:
    out = policy(r.observations, r.state, r.first)
    target, advantage = {}, {}
    for t in range(T):
        for n in range(N):
            found, gain = target_by_hand(r, a3c.targets, t, n)
            if found is not None:
                target[t, n], advantage[t, n] = found, gain
    if a3c.normalise_advantage:
        advantage = normalised_by_hand(advantage)
    per_step = [
        (
            -out.parameters[place][r.actions[place]] * advantage[place],
            value_error_by_hand(out.value[place], target[place], a3c.terms.value_loss),
            entropy_by_hand(out.parameters[place]),
        )
        for place in target
    ]
    return total_by_hand(per_step, a3c.terms)


@pytest.mark.parametrize("returns", ["gae", "n-step", "monte-carlo"])
@pytest.mark.parametrize("value_loss", ["squared", "huber"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("normalise", [False, True])
def test_the_loss_is_what_the_equations_say(returns: str, value_loss: str, reduction: str, normalise: bool) -> None:
    """The values that acting recorded are not the policy's here: advantages come from those, errors from these."""
    policy, rollout = make_policy(), make_rollout()
    terms = Terms(0.02, value_coef=0.4, value_loss=value_loss, reduction=reduction)
    a3c = A3C(Targets(GAMMA, returns, LAMBDA), terms, normalise_advantage=normalise)
    loss = loss_of(a3c, policy, rollout)
    assert_same_loss_and_gradient(loss.total, loss_by_hand(policy, rollout, a3c), policy)
    assert not loss.stop


@pytest.mark.parametrize("memory", ["lstm", "gru"])
def test_the_loss_is_what_the_equations_say_of_a_policy_with_a_memory(memory: str) -> None:
    policy = make_policy(memory=memory)
    rollout, a3c = make_rollout(policy), A3C(Targets(GAMMA, "gae", LAMBDA))
    assert_same_loss_and_gradient(loss_of(a3c, policy, rollout).total, loss_by_hand(policy, rollout, a3c), policy)


def test_sum_is_mean_times_the_number_of_steps_also_in_its_gradient() -> None:
    policy, rollout = make_policy(), make_rollout()
    mean, total = (
        gradient_of(loss_of(A3C(terms=Terms(reduction=reduction)), policy, rollout).total, policy)
        for reduction in ("mean", "sum")
    )
    torch.testing.assert_close(total, mean * T * N)


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_the_parts_of_a_rollout_add_up_to_the_whole(parts: int) -> None:
    policy = make_policy(memory="gru", dropout=0.3)
    rollout, terms = make_rollout(policy), Terms(reduction="sum")
    minibatches = list(A3C(terms=terms, parts=parts).minibatches(rollout, torch.Generator()))
    assert [m.actions.shape[1] for m in minibatches] == {2: [2, 2], 3: [1, 1, 2], 4: [1, 1, 1, 1]}[parts]
    total = sum((A3C(terms=terms).loss(policy, m, 0).total for m in minibatches), torch.zeros(()))
    assert_same_loss_and_gradient(total, loss_of(A3C(terms=terms), policy, rollout).total, policy)


def test_advantages_and_targets_are_constants_for_the_gradient() -> None:
    """The policy term must not push on the critic: its gradient there is zero."""
    policy, rollout = make_policy(), make_rollout()
    loss = loss_of(A3C(terms=Terms(value_coef=0.0, entropy=0.0)), policy, rollout).total
    (gradient,) = torch.autograd.grad(loss, [policy.critic.weight])
    assert (gradient == 0).all()


def test_normalised_advantages_leave_the_value_targets_alone() -> None:
    policy, rollout, terms = make_policy(), make_rollout(), Terms(entropy=0.0)
    plain = loss_of(A3C(terms=terms), policy, rollout).metrics
    normalised = loss_of(A3C(terms=terms, normalise_advantage=True), policy, rollout).metrics
    assert plain["loss/value"] == normalised["loss/value"]
    assert plain["loss/policy"] != normalised["loss/policy"]


def test_normalised_advantages_do_not_depend_on_the_scale_of_rewards() -> None:
    policy, rollout = make_policy(), make_rollout(ends=False)
    losses = []
    for factor in (1.0, 50.0):
        scaled = dataclasses.replace(rollout, rewards=rollout.rewards * factor, values=torch.zeros_like(rollout.values))
        losses.append(loss_of(A3C(normalise_advantage=True), policy, scaled).metrics["loss/policy"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_entropy_follows_its_schedule() -> None:
    policy, rollout = make_policy(), make_rollout()
    a3c = A3C(terms=Terms(entropy=0.1, entropy_final=0.0, schedule_steps=100))
    losses = [loss_of(a3c, policy, rollout, step) for step in (0, 50, 200)]
    assert [loss.metrics["policy/entropy_coef"] for loss in losses] == [0.1, 0.05, 0.0]
    totals = [loss.total.item() for loss in losses]
    entropy = losses[0].metrics["policy/entropy"]
    assert [totals[2] - total for total in totals] == pytest.approx([0.1 * entropy, 0.05 * entropy, 0.0])


def test_who_is_to_settle_pays_for_entropy_in_the_second_half_of_the_schedule() -> None:
    policy, rollout = make_policy(), make_rollout()
    a3c = A3C(terms=Terms(entropy=0.1, settle=0.4, schedule_steps=100))
    losses = [loss_of(a3c, policy, rollout, step) for step in (0, 50, 75, 100, 200)]
    weights = [loss.metrics["policy/entropy_coef"] for loss in losses]
    assert weights == pytest.approx([0.1, 0.1, -0.1, -0.3, -0.3])
    entropy = losses[0].metrics["policy/entropy"]
    assert losses[3].total.item() - losses[0].total.item() == pytest.approx(0.4 * entropy)


def test_the_reported_losses_are_means_whatever_is_minimised() -> None:
    policy, rollout = make_policy(), make_rollout()
    mean, total = (loss_of(A3C(terms=Terms(reduction=r)), policy, rollout).metrics for r in ("mean", "sum"))
    assert mean == total
    parts = mean["loss/policy"] + 0.5 * mean["loss/value"] - 0.01 * mean["policy/entropy"]
    assert loss_of(A3C(), policy, rollout).total.item() == pytest.approx(parts)


def test_a_rollout_without_a_whole_episode_teaches_monte_carlo_nothing() -> None:
    policy, rollout = make_policy(), make_rollout(ends=False)
    loss = loss_of(A3C(Targets(returns="monte-carlo")), policy, rollout)
    assert loss.total.item() == 0.0
    assert (gradient_of(loss.total, policy) == 0).all()


@pytest.mark.parametrize("objective", ["a3c", "ppo", "vtrace"])
def test_each_worker_takes_its_own_elements_of_lists(objective: str) -> None:
    settings = Settings().update(objective=objective, entropy=[0.01, 0.02, 0.005], gae_lambda=[0.9, 1.0])
    chosen = [make_objective(settings, rank) for rank in range(4)]
    traces = chosen if objective == "vtrace" else [o.targets for o in chosen]  # type: ignore[attr-defined]
    assert [o.terms.entropy for o in chosen] == [0.01, 0.02, 0.005, 0.01]  # type: ignore[attr-defined]
    assert [trace.gae_lambda for trace in traces] == [0.9, 1.0, 0.9, 1.0]  # type: ignore[attr-defined]


def test_explained_variance_of_a_constant_guess_is_zero_and_of_constant_returns_unknown() -> None:
    returns = np.array([1.0, 2.0, 3.0])
    assert explained_variance(np.full(3, 7.0), returns) == pytest.approx(0.0)
    assert math.isnan(explained_variance(returns, np.full(3, 0.1, dtype=np.float32)))
