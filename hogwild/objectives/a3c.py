"""Advantage actor-critic (arXiv:1602.01783): the policy gradient, a value error, and an entropy bonus."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from hogwild.config.settings import Settings, of_worker
from hogwild.maths import categorical
from hogwild.maths.returns import generalised_advantage, monte_carlo_return, n_step_return
from hogwild.maths.schedules import linear
from hogwild.policies.policy import Policy
from hogwild.rollout import Rollout


@dataclass(frozen=True)
class A3C:
    """The A3C objective of one worker."""

    discount: float = 0.99
    returns: str = "gae"
    gae_lambda: float = 0.95
    entropy: float = 0.01
    entropy_final: float = 1.0
    schedule_steps: int = 0
    value_coef: float = 0.5
    value_loss: str = "squared"
    reduction: str = "mean"
    normalise_advantage: bool = False

    @classmethod
    def for_worker(cls, settings: Settings, rank: int) -> "A3C":
        """The objective that the settings give to worker `rank`."""
        chosen = settings.objective
        return cls(
            discount=of_worker(chosen.discount, rank),
            returns=chosen.returns,
            gae_lambda=of_worker(chosen.gae_lambda, rank),
            entropy=of_worker(chosen.entropy, rank),
            entropy_final=chosen.entropy_final,
            schedule_steps=settings.optimizer.schedule_steps,
            value_coef=of_worker(chosen.value_coef, rank),
            value_loss=chosen.value_loss,
            reduction=chosen.reduction,
            normalise_advantage=chosen.normalise_advantage,
        )

    def loss(self, policy: Policy, rollout: Rollout, step: int) -> tuple[Tensor, dict[str, float]]:
        """Loss of one rollout, and its parts; `step` is where the entropy schedule stands."""
        out = policy(rollout.observations, rollout.state, rollout.first)
        value = out.value[:-1]
        advantage, target, known = self.targets(rollout, out.value.detach())
        if self.normalise_advantage:
            advantage = standardise(advantage, known)

        taken = categorical.log_probability(out.log_probs[:-1], rollout.actions)
        policy_loss = self._reduce(-taken * advantage, known)
        value_loss = self._reduce(self._value_error(value, target), known)
        entropy = categorical.entropy(out.log_probs[:-1])
        entropy_coef = linear(self.entropy, self.entropy_final, self.schedule_steps, step)
        loss = policy_loss + self.value_coef * value_loss - entropy_coef * self._reduce(entropy, known)

        count = known.sum().clamp_min(1)
        scale = 1.0 if self.reduction == "mean" else float(count)
        return loss, {
            "loss/policy": policy_loss.item() / scale,
            "loss/value": value_loss.item() / scale,
            "policy/entropy": entropy.mean().item(),
            "policy/entropy_coef": entropy_coef,
            "value/mean": value.mean().item(),
            "value/explained_variance": explained_variance(value.detach()[known], target[known]),
        }

    def targets(self, rollout: Rollout, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Advantages, value targets, and which steps have them, all [T, N]; `value` is [T+1, N]."""
        discount = self.discount * ~rollout.terminated
        cut = rollout.terminated | rollout.truncated
        next_value = torch.where(rollout.truncated, rollout.final_value, value[1:])
        known = torch.ones_like(cut)
        if self.returns == "gae":
            advantage = generalised_advantage(rollout.rewards, discount, value[:-1], next_value, cut, self.gae_lambda)
            return advantage, advantage + value[:-1], known
        if self.returns == "n-step":
            target = n_step_return(rollout.rewards, discount, next_value, cut)
        else:
            target, known = monte_carlo_return(rollout.rewards, discount, cut)
        return target - value[:-1], target, known

    def _reduce(self, per_step: Tensor, known: Tensor) -> Tensor:
        total = (per_step * known).sum()
        return total if self.reduction == "sum" else total / known.sum().clamp_min(1)

    def _value_error(self, value: Tensor, target: Tensor) -> Tensor:
        if self.value_loss == "huber":
            return F.huber_loss(value, target, reduction="none")
        return 0.5 * (value - target).square()


def standardise(advantage: Tensor, known: Tensor) -> Tensor:
    """Advantages with mean 0 and deviation 1 over the steps that have one.

    >>> standardise(torch.tensor([[1.0], [3.0]]), torch.tensor([[True], [True]])).flatten().round().tolist()
    [-1.0, 1.0]
    """
    seen = advantage[known]
    if seen.numel() < 2:
        return advantage
    return (advantage - seen.mean()) / (seen.std(correction=0) + 1e-8)


def explained_variance(predicted: Tensor, actual: Tensor) -> float:
    """Share of the variance of `actual` that `predicted` explains: 1 is perfect, 0 no better than a constant.

    >>> explained_variance(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))
    1.0
    """
    if actual.numel() < 2 or actual.var(correction=0) == 0:
        return math.nan
    return (1.0 - (actual - predicted).var(correction=0) / actual.var(correction=0)).item()
