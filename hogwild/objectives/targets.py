"""Advantages and value targets of a rollout, from the values that its own policy gave."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hogwild.config.settings import Settings, of_worker
from hogwild.maths.returns import generalised_advantage, monte_carlo_return, n_step_return
from hogwild.objectives.figures import array
from hogwild.rollout import Rollout


@dataclass(frozen=True)
class Targets:
    """How steps are judged by what followed them."""

    discount: float = 0.99
    returns: str = "gae"
    gae_lambda: float = 0.95

    @classmethod
    def of_worker(cls, settings: Settings, rank: int) -> "Targets":
        """What the settings give to worker `rank`."""
        chosen = settings.objective
        return cls(of_worker(chosen.discount, rank), chosen.returns, of_worker(chosen.gae_lambda, rank))

    def estimate(self, rollout: Rollout) -> tuple[Tensor, Tensor, Tensor]:
        """Advantages, value targets, and which steps have them, all [T, N]."""
        value = rollout.values[:-1]
        discount = self.discount * ~rollout.terminated
        cut = rollout.terminated | rollout.truncated
        next_value = torch.where(rollout.truncated, rollout.final_value, rollout.values[1:])
        known = torch.ones_like(cut)
        if self.returns == "gae":
            advantage = generalised_advantage(rollout.rewards, discount, value, next_value, cut, self.gae_lambda)
            return advantage, advantage + value, known
        if self.returns == "n-step":
            target = n_step_return(rollout.rewards, discount, next_value, cut)
        else:
            target, known = monte_carlo_return(rollout.rewards, discount, cut)
        return target - value, target, known


def standardise(advantage: Tensor, known: Tensor) -> Tensor:
    """Advantages with mean 0 and deviation 1 over the steps that have one.

    >>> standardise(torch.tensor([[1.0], [3.0]]), torch.tensor([[True], [True]])).flatten().round().tolist()
    [-1.0, 1.0]
    """
    seen = advantage if array(known).all() else advantage[known]
    if seen.numel() < 2:
        return advantage
    return (advantage - seen.mean()) / (seen.std(correction=0) + 1e-8)
