"""The A3C loss against a slow version that follows the equations step by step."""

import math

import pytest
import torch
from torch import Tensor

from hogwild.config.settings import PolicySettings, Settings
from hogwild.objectives import make_objective
from hogwild.objectives.a3c import A3C, explained_variance
from hogwild.policies.policy import Policy
from hogwild.policies.spec import PolicySpec
from hogwild.rollout import Rollout

T, N, ACTIONS = 6, 4, 3


def make_policy() -> Policy:
    torch.manual_seed(0)
    policy = Policy(PolicySpec((5,), "float32", ACTIONS), PolicySettings(initialisation="glorot"))
    return policy.double()


def make_rollout(ends: bool = True) -> Rollout:
    generator = torch.Generator().manual_seed(3)
    terminated = torch.rand(T, N, generator=generator) < (0.25 if ends else 0.0)
    truncated = (torch.rand(T, N, generator=generator) < (0.25 if ends else 0.0)) & ~terminated
    first = torch.cat([torch.zeros(1, N, dtype=torch.bool), terminated | truncated])
    return Rollout(
        observations=torch.randn(T + 1, N, 5, generator=generator),
        actions=torch.randint(ACTIONS, (T, N), generator=generator),
        log_probs=torch.zeros(T, N),
        rewards=torch.randn(T, N, generator=generator, dtype=torch.float64),
        terminated=terminated,
        truncated=truncated,
        final_value=torch.randn(T, N, generator=generator, dtype=torch.float64) * truncated,
        first=first,
        state=torch.zeros(N, 0),
        version=0,
        episodes=(),
    )


@pytest.fixture(autouse=True)
def decimals_in_double_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder turns observations into single precision; here everything is double, to compare exactly."""
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)


def loss_by_hand(policy: Policy, r: Rollout, a3c: A3C) -> float:
    out = policy(r.observations, r.state, r.first)
    value = out.value.detach()
    policy_loss = value_loss = entropy = 0.0
    count = 0
    for n in range(N):
        for t in range(T):
            target, advantage = target_by_hand(r, value, a3c, t, n)
            if target is None:
                continue
            count += 1
            log_probs = out.log_probs[t, n]
            policy_loss -= log_probs[r.actions[t, n]].item() * advantage
            error = value[t, n].item() - target
            small = abs(error) <= 1
            huber = 0.5 * error**2 if small else abs(error) - 0.5
            value_loss += huber if a3c.value_loss == "huber" else 0.5 * error**2
            entropy -= sum(p * math.log(p) for p in log_probs.exp().tolist())
    scale = 1.0 if a3c.reduction == "sum" else 1.0 / count
    return (policy_loss + a3c.value_coef * value_loss - a3c.entropy * entropy) * scale


def target_by_hand(r: Rollout, value: Tensor, a3c: A3C, t: int, n: int) -> tuple[float | None, float]:
    """Value target and advantage of one step, by walking forward to the end of its episode."""
    gamma, lam = a3c.discount, a3c.gae_lambda if a3c.returns == "gae" else 1.0
    advantage, weight, discounted, total = 0.0, 1.0, 1.0, 0.0
    for k in range(t, T):
        ended = bool(r.terminated[k, n])
        following = 0.0 if ended else (r.final_value[k, n] if r.truncated[k, n] else value[k + 1, n]).item()
        advantage += weight * (r.rewards[k, n].item() + gamma * following - value[k, n].item())
        total += discounted * r.rewards[k, n].item()
        if ended or r.truncated[k, n]:
            break
        weight *= gamma * lam
        discounted *= gamma
    else:
        if a3c.returns == "monte-carlo":
            return None, 0.0
    if a3c.returns == "monte-carlo":
        return total, total - value[t, n].item()
    return advantage + value[t, n].item(), advantage


@pytest.mark.parametrize("returns", ["gae", "n-step", "monte-carlo"])
@pytest.mark.parametrize("value_loss", ["squared", "huber"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_loss_is_what_the_equations_say(returns: str, value_loss: str, reduction: str) -> None:
    policy, rollout = make_policy(), make_rollout()
    a3c = A3C(0.9, returns, 0.8, 0.02, value_coef=0.4, value_loss=value_loss, reduction=reduction)
    loss, _ = a3c.loss(policy, rollout, step=0)
    assert loss.item() == pytest.approx(loss_by_hand(policy, rollout, a3c), rel=1e-6)


def test_sum_is_mean_times_the_number_of_steps_also_in_its_gradient() -> None:
    policy, rollout = make_policy(), make_rollout()
    gradients = []
    for reduction in ("mean", "sum"):
        loss, _ = A3C(reduction=reduction).loss(policy, rollout, 0)
        gradients.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(policy.parameters()))]))
    torch.testing.assert_close(gradients[1], gradients[0] * T * N)


def test_advantages_and_targets_are_constants_for_the_gradient() -> None:
    """The policy term must not push on the critic: its gradient there is zero."""
    policy, rollout = make_policy(), make_rollout()
    loss, _ = A3C(value_coef=0.0, entropy=0.0).loss(policy, rollout, 0)
    (gradient,) = torch.autograd.grad(loss, [policy.critic.weight])
    assert (gradient == 0).all()


def test_normalised_advantages_leave_the_value_targets_alone() -> None:
    policy, rollout = make_policy(), make_rollout()
    plain = A3C(entropy=0.0).loss(policy, rollout, 0)[1]["loss/value"]
    normalised = A3C(entropy=0.0, normalise_advantage=True).loss(policy, rollout, 0)[1]["loss/value"]
    assert plain == normalised


def test_normalised_advantages_do_not_depend_on_the_scale_of_rewards() -> None:
    policy, rollout = make_policy(), make_rollout(ends=False)
    with torch.no_grad():
        for parameter in policy.critic.parameters():
            parameter.zero_()
    losses = []
    for factor in (1.0, 50.0):
        scaled = Rollout(**{**vars(rollout), "rewards": rollout.rewards * factor})
        losses.append(A3C(normalise_advantage=True).loss(policy, scaled, 0)[1]["loss/policy"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_entropy_follows_its_schedule() -> None:
    policy, rollout = make_policy(), make_rollout()
    a3c = A3C(entropy=0.1, entropy_final=0.0, schedule_steps=100)
    assert [a3c.loss(policy, rollout, step)[1]["policy/entropy_coef"] for step in (0, 50, 200)] == [0.1, 0.05, 0.0]


def test_each_worker_takes_its_own_elements_of_lists() -> None:
    settings = Settings().update(entropy=[0.01, 0.02, 0.005], gae_lambda=[0.9, 1.0])
    chosen = [make_objective(settings, rank) for rank in range(4)]
    assert [o.entropy for o in chosen] == [0.01, 0.02, 0.005, 0.01]  # type: ignore[attr-defined]
    assert [o.gae_lambda for o in chosen] == [0.9, 1.0, 0.9, 1.0]  # type: ignore[attr-defined]


def test_explained_variance_of_a_constant_guess_is_zero_and_of_constant_returns_unknown() -> None:
    returns = torch.tensor([1.0, 2.0, 3.0])
    assert explained_variance(torch.full((3,), 7.0), returns) == pytest.approx(0.0)
    assert math.isnan(explained_variance(returns, torch.ones(3)))
