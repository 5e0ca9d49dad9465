"""The V-trace objective against a slow version that follows the equations step by step."""

import dataclasses
import math

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
    total_by_hand,
    value_error_by_hand,
)
from torch import Tensor

from hogwild.config.settings import Settings
from hogwild.objectives import make_objective
from hogwild.objectives.a3c import A3C
from hogwild.objectives.targets import Targets
from hogwild.objectives.terms import Terms
from hogwild.objectives.vtrace import VTrace
from hogwild.policies.policy import Policy
from hogwild.rollout import Rollout, join


def ratios_by_hand(policy: Policy, r: Rollout) -> dict[tuple[int, int], float]:
    """How much likelier the policy makes the actions taken than they were."""
    out = policy(r.observations, r.state, r.first)
    return {
        (t, n): math.exp(out.parameters[t, n, r.actions[t, n]].item() - r.log_probs[t, n].item())
        for t in range(T)
        for n in range(N)
    }


def loss_by_hand(policy: Policy, r: Rollout, objective: VTrace) -> Tensor:
    out = policy(r.observations, r.state, r.first)
    target, advantage = {}, {}
    for t in range(T):
        for n in range(N):
            target[t, n] = target_by_hand(policy, r, objective, t, n)
            ratio = min(objective.rho_max, ratios_by_hand(policy, r)[t, n])
            if r.terminated[t, n]:
                following = 0.0
            elif r.truncated[t, n]:
                following = r.final_value[t, n].item()
            elif t == T - 1:
                following = out.value[T, n].item()
            else:
                following = target_by_hand(policy, r, objective, t + 1, n)
            error = r.rewards[t, n].item() + objective.discount * following - out.value[t, n].item()
            advantage[t, n] = ratio * error
    if objective.normalise_advantage:
        advantage = normalised_by_hand(advantage)
    per_step = [
        (
            -out.parameters[place][r.actions[place]] * advantage[place],
            value_error_by_hand(out.value[place], target[place], objective.terms.value_loss),
            entropy_by_hand(out.parameters[place]),
        )
        for place in target
    ]
    return total_by_hand(per_step, objective.terms)


def target_by_hand(policy: Policy, r: Rollout, objective: VTrace, s: int, n: int) -> float:
    """The target of one step, by walking forward to the end of its episode."""
    with torch.no_grad():
        value = policy(r.observations, r.state, r.first).value[:, n].tolist()
    ratio = ratios_by_hand(policy, r)
    total, trace = value[s], 1.0
    for t in range(s, T):
        following = r.final_value[t, n].item() if r.truncated[t, n] else value[t + 1]
        following = 0.0 if r.terminated[t, n] else following
        error = r.rewards[t, n].item() + objective.discount * following - value[t]
        total += trace * min(objective.rho_max, ratio[t, n]) * error
        if r.terminated[t, n] or r.truncated[t, n]:
            break
        trace *= objective.discount * objective.gae_lambda * min(objective.c_max, ratio[t, n])
    return total


@pytest.mark.parametrize("value_loss", ["squared", "huber"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize(("rho_max", "c_max"), [(1.0, 1.0), (0.6, 1.5), (1.5, 0.6)])
def test_the_loss_is_what_the_equations_say(
    value_loss: str, reduction: str, normalise: bool, rho_max: float, c_max: float
) -> None:
    """Values are the policy's own here, whatever acting recorded; only a truncated episode's last one is not."""
    policy, rollout = make_policy(), make_rollout()
    terms = Terms(0.02, value_coef=0.4, value_loss=value_loss, reduction=reduction)
    objective = VTrace(terms, GAMMA, LAMBDA, rho_max, c_max, normalise_advantage=normalise)
    loss = loss_of(objective, policy, rollout)
    assert_same_loss_and_gradient(loss.total, loss_by_hand(policy, rollout, objective), policy)
    assert not loss.stop


@pytest.mark.parametrize("memory", ["lstm", "gru"])
def test_the_loss_is_what_the_equations_say_of_a_policy_with_a_memory(memory: str) -> None:
    policy = make_policy(memory=memory)
    rollout = make_rollout(make_policy(seed=1, memory=memory))
    objective = VTrace(discount=GAMMA, gae_lambda=LAMBDA)
    found = loss_of(objective, policy, rollout).total
    assert_same_loss_and_gradient(found, loss_by_hand(policy, rollout, objective), policy)


@pytest.mark.parametrize("memory", ["none", "lstm", "gru"])
@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("limit", [1.0, 3.0])
def test_on_the_policy_that_acted_it_is_a3c_with_n_step_returns(memory: str, normalise: bool, limit: float) -> None:
    policy = make_policy(memory=memory)
    rollout, terms = make_rollout(policy), Terms(value_loss="huber")
    objective = VTrace(terms, 0.97, rho_max=limit, c_max=limit, normalise_advantage=normalise)
    a3c = A3C(Targets(0.97, "n-step"), terms, normalise_advantage=normalise)
    found, expected = (gradient_of(loss_of(o, policy, rollout).total, policy) for o in (objective, a3c))
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-13)
    moved = make_policy(seed=1, memory=memory)
    found, expected = (gradient_of(loss_of(o, moved, rollout).total, moved) for o in (objective, a3c))
    assert not torch.allclose(found, expected, rtol=1e-3)


def test_targets_and_weights_are_constants_for_the_gradient() -> None:
    """The policy term must not push on the critic: its gradient there is zero."""
    policy, rollout = make_policy(), make_rollout()
    loss = loss_of(VTrace(Terms(value_coef=0.0, entropy=0.0)), policy, rollout).total
    (gradient,) = torch.autograd.grad(loss, [policy.critic.weight])
    assert (gradient == 0).all()


def test_the_values_that_acting_recorded_do_not_matter() -> None:
    policy, rollout = make_policy(), make_rollout()
    other = dataclasses.replace(rollout, values=rollout.values + 1.0)
    assert torch.equal(loss_of(VTrace(), policy, rollout).total, loss_of(VTrace(), policy, other).total)


def test_it_reports_the_mean_weight_and_how_many_were_too_large() -> None:
    policy, rollout = make_policy(), make_rollout()
    metrics = loss_of(VTrace(rho_max=1.2), policy, rollout).metrics
    ratios = list(ratios_by_hand(policy, rollout).values())
    too_large = sum(r > 1.2 for r in ratios)
    assert metrics["vtrace/ratio"] == pytest.approx(sum(ratios) / len(ratios))
    assert metrics["vtrace/clipped"] == pytest.approx(too_large / len(ratios))
    assert 0 < too_large < len(ratios)


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_the_parts_of_a_rollout_add_up_to_the_whole(parts: int) -> None:
    policy = make_policy(memory="gru", dropout=0.3)
    rollout = make_rollout(make_policy(seed=1, memory="gru", dropout=0.3))
    objective = VTrace(Terms(reduction="sum"), parts=parts)
    minibatches = list(objective.minibatches(rollout, torch.Generator()))
    assert [m.actions.shape[1] for m in minibatches] == {2: [2, 2], 3: [1, 1, 2], 4: [1, 1, 1, 1]}[parts]
    total = sum((objective.loss(policy, m, 0).total for m in minibatches), torch.zeros(()))
    expected = loss_of(dataclasses.replace(objective, parts=1), policy, rollout).total
    assert_same_loss_and_gradient(total, expected, policy)


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_the_parts_of_a_rollout_join_to_the_rollout(parts: int) -> None:
    rollout = make_rollout(make_policy(memory="lstm"))
    joined = join(list(rollout.parts(parts)))
    for name, tensor in rollout.tensors().items():
        assert torch.equal(joined.tensors()[name], tensor), name


def test_the_settings_reach_the_objective() -> None:
    settings = Settings().update(objective="vtrace", discount=[0.9, 0.8], rho_max=2.0, c_max=3.0, minibatches=4)
    first, second = (make_objective(settings, rank) for rank in range(2))
    assert isinstance(first, VTrace)
    assert (first.discount, first.rho_max, first.c_max, first.parts) == (0.9, 2.0, 3.0, 4)
    assert isinstance(second, VTrace)
    assert second.discount == 0.8
