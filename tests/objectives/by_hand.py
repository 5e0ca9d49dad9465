"""Random rollouts, and what the equations say of single steps of them."""

import dataclasses
import itertools
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from hogwild.config.settings import PolicySettings
from hogwild.objectives.objective import Loss, Objective
from hogwild.objectives.targets import Targets
from hogwild.objectives.terms import Terms
from hogwild.policies.policy import Policy
from hogwild.policies.spec import PolicySpec, choice
from hogwild.rollout import Played, Rollout

T, N, ACTIONS = 6, 4, 3
GAMMA, LAMBDA = 0.875, 0.75  # exact in single precision, which discounts have
ENDS = list(itertools.product(("no", "terminated", "truncated"), repeat=3))


def make_policy(seed: int = 0, **settings: Any) -> Policy:
    torch.manual_seed(seed)
    chosen = PolicySettings(initialisation="glorot", memory_size=7, **settings)
    return Policy(PolicySpec((5,), "float32", choice(ACTIONS)), chosen).double()


def make_rollout(policy: Policy | None = None, ends: bool = True) -> Rollout:
    """Random steps, by a policy or as if by one that nobody knows; the memory before them is not empty."""
    generator = torch.Generator().manual_seed(3)
    terminated = torch.rand(T, N, generator=generator) < (0.25 if ends else 0.0)
    truncated = (torch.rand(T, N, generator=generator) < (0.25 if ends else 0.0)) & ~terminated
    memory = policy.initial_state(N).shape[1] if policy else 0
    rollout = Rollout(
        observations=normal(generator, T + 1, N, 5),
        actions=torch.randint(ACTIONS, (T, N), generator=generator),
        log_probs=-normal(generator, T, N).abs() - 0.3,
        values=normal(generator, T + 1, N),
        rewards=normal(generator, T, N),
        terminated=terminated,
        truncated=truncated,
        final_value=normal(generator, T, N) * truncated,
        first=torch.cat([torch.tensor([[True, False] * (N // 2)]), terminated | truncated]),
        state=normal(generator, N, memory),
        played=(Played(0),),
    )
    return rollout if policy is None else acted_by(policy, rollout)


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def acted_by(policy: Policy, rollout: Rollout) -> Rollout:
    """The rollout as it would be if the policy had taken its actions."""
    with torch.no_grad():
        out = policy(rollout.observations, rollout.state, rollout.first)
    taken = out.parameters[:-1].gather(-1, rollout.actions.unsqueeze(-1)).squeeze(-1)
    return dataclasses.replace(rollout, log_probs=taken, values=out.value)


def rollout_with_ends(ends: tuple[str, ...]) -> Rollout:
    """One environment whose episodes end as told: 'no', 'terminated' or 'truncated' at each step."""
    generator = torch.Generator().manual_seed(ENDS.index(ends))
    terminated = torch.tensor([[e == "terminated"] for e in ends])
    truncated = torch.tensor([[e == "truncated"] for e in ends])
    steps = len(ends)
    return Rollout(
        observations=normal(generator, steps + 1, 1, 5),
        actions=torch.randint(ACTIONS, (steps, 1), generator=generator),
        log_probs=-normal(generator, steps, 1).abs() - 0.3,
        values=normal(generator, steps + 1, 1),
        rewards=normal(generator, steps, 1),
        terminated=terminated,
        truncated=truncated,
        final_value=normal(generator, steps, 1) * truncated,
        first=torch.cat([torch.tensor([[True]]), terminated | truncated]),
        state=torch.zeros(1, 0, dtype=torch.float64),
        played=(Played(0),),
    )


def loss_of(objective: Objective, policy: Policy, rollout: Rollout, step: int = 0) -> Loss:
    """The loss of an objective that learns from a rollout in one piece."""
    (minibatch,) = objective.minibatches(rollout, torch.Generator())
    return objective.loss(policy, minibatch, step)


def gradient_of(loss: Tensor, policy: Policy) -> Tensor:
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(policy.parameters()))])


def assert_same_loss_and_gradient(found: Tensor, expected: Tensor, policy: Policy) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(gradient_of(found, policy), gradient_of(expected, policy), rtol=1e-9, atol=1e-12)


def target_by_hand(r: Rollout, targets: Targets, t: int, n: int) -> tuple[float | None, float]:
    """Value target and advantage of one step, by walking forward to the end of its episode."""
    gamma, lam = targets.discount, targets.gae_lambda if targets.returns == "gae" else 1.0
    value = r.values
    advantage, weight, discounted, total = 0.0, 1.0, 1.0, 0.0
    for k in range(t, len(r.rewards)):
        ended = bool(r.terminated[k, n])
        following = 0.0 if ended else (r.final_value[k, n] if r.truncated[k, n] else value[k + 1, n]).item()
        advantage += weight * (r.rewards[k, n].item() + gamma * following - value[k, n].item())
        total += discounted * r.rewards[k, n].item()
        if ended or r.truncated[k, n]:
            break
        weight *= gamma * lam
        discounted *= gamma
    else:
        if targets.returns == "monte-carlo":
            return None, 0.0
    if targets.returns == "monte-carlo":
        return total, total - value[t, n].item()
    return advantage + value[t, n].item(), advantage


def normalised_by_hand(advantages: dict[tuple[int, int], float]) -> dict[tuple[int, int], float]:
    """Advantages by step and environment, shifted and scaled to mean 0 and deviation 1."""
    mean = sum(advantages.values()) / len(advantages)
    deviation = (sum((a - mean) ** 2 for a in advantages.values()) / len(advantages)) ** 0.5
    return {place: (a - mean) / (deviation + 1e-8) for place, a in advantages.items()}


def value_error_by_hand(value: Tensor, target: float, kind: str) -> Tensor:
    error = value - target
    if kind == "squared" or abs(error.item()) <= 1:
        return 0.5 * error**2
    return abs(error) - 0.5


def entropy_by_hand(log_probs: Tensor) -> Tensor:
    return -sum((log_p.exp() * log_p for log_p in log_probs), torch.zeros(()))


def total_by_hand(per_step: Iterable[tuple[Tensor, Tensor, Tensor]], terms: Terms) -> Tensor:
    """The whole loss from the policy's loss, the value's error and the entropy of every step."""
    losses = [policy + terms.value_coef * value - terms.entropy * entropy for policy, value, entropy in per_step]
    total = sum(losses, torch.zeros(()))
    return total if terms.reduction == "sum" else total / len(losses)
