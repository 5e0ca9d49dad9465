"""The terms that every actor-critic objective adds to its policy's loss: the value error and the entropy bonus."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from hogwild.config.settings import Settings, of_worker
from hogwild.maths.schedules import linear, second_half
from hogwild.objectives.figures import array, explained_variance


@dataclass(frozen=True)
class Terms:
    """Weights of the terms, and how steps are summed up."""

    entropy: float = 0.01
    entropy_final: float = 1.0
    settle: float = 0.0
    schedule_steps: int = 0
    value_coef: float = 0.5
    value_loss: str = "squared"
    reduction: str = "mean"

    @classmethod
    def of_worker(cls, settings: Settings, rank: int) -> "Terms":
        """What the settings give to worker `rank`."""
        chosen = settings.objective
        return cls(
            entropy=of_worker(chosen.entropy, rank),
            entropy_final=chosen.entropy_final,
            settle=chosen.settle,
            schedule_steps=settings.optimizer.schedule_steps,
            value_coef=of_worker(chosen.value_coef, rank),
            value_loss=chosen.value_loss,
            reduction=chosen.reduction,
        )

    def value_error(self, value: Tensor, target: Tensor) -> Tensor:
        """Error of each value, [T, N]."""
        if self.value_loss == "huber":
            return F.huber_loss(value, target, reduction="none")
        return 0.5 * (value - target).square()

    def total(
        self,
        policy_loss: Tensor,
        value_error: Tensor,
        entropy: Tensor,
        value: Tensor,
        target: Tensor,
        known: Tensor,
        step: int,
    ) -> tuple[Tensor, dict[str, float]]:
        """The whole loss from the policy's loss, the value's error and the entropy at each step, and what to report."""
        entropy_coef = linear(self.entropy, self.entropy_final, self.schedule_steps, step)
        entropy_coef -= self.settle * second_half(self.schedule_steps, step)
        per_step = policy_loss + self.value_coef * value_error - entropy_coef * entropy
        seen, predicted = array(known), array(value)
        count = max(1, int(seen.sum()))
        total = (per_step if seen.all() else per_step * known).sum()
        with np.errstate(all="ignore"):  # what is not finite is left out later, with a word
            metrics = {
                "loss/policy": float(array(policy_loss)[seen].sum() / count),
                "loss/value": float(array(value_error)[seen].sum() / count),
                "policy/entropy": float(array(entropy).mean()),
                "policy/entropy_coef": entropy_coef,
                "value/mean": float(predicted.mean()),
                "value/explained_variance": explained_variance(predicted[seen], array(target)[seen]),
            }
        return (total if self.reduction == "sum" else total / count), metrics
