"""Proximal policy optimisation (arXiv:1707.06347): several passes over the same steps, held near where they began."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from hogwild.config.settings import Settings, of_worker
from hogwild.objectives.figures import array
from hogwild.objectives.minibatch import Minibatch, in_order, shuffled_sequences, shuffled_steps, whole
from hogwild.objectives.objective import Loss
from hogwild.objectives.targets import Targets, standardise
from hogwild.objectives.terms import Terms
from hogwild.policies.policy import Policy
from hogwild.rollout import Rollout


@dataclass(frozen=True)
class PPO:
    """The PPO objective of one worker."""

    targets: Targets = field(default_factory=Targets)
    terms: Terms = field(default_factory=Terms)
    clip: float = 0.2
    value_clip: float = 0.0
    max_kl: float = 0.0
    epochs: int = 1
    parts: int = 1
    normalise_advantage: bool = True
    recurrent: bool = False

    @classmethod
    def of_worker(cls, settings: Settings, rank: int) -> "PPO":
        """The objective that the settings give to worker `rank`."""
        chosen = settings.objective
        return cls(
            Targets.of_worker(settings, rank),
            Terms.of_worker(settings, rank),
            clip=of_worker(chosen.clip, rank),
            value_clip=chosen.value_clip,
            max_kl=chosen.max_kl,
            epochs=chosen.epochs,
            parts=chosen.minibatches,
            normalise_advantage=chosen.normalise_advantage,
            recurrent=settings.policy.memory != "none",
        )

    def minibatches(self, rollout: Rollout, generator: torch.Generator) -> Iterator[Minibatch]:
        """Every step once in each epoch, shuffled; a policy with a memory keeps whole sequences together."""
        everything = whole(rollout, self.targets)
        for _ in range(self.epochs):
            if self.parts == 1:
                yield from in_order(everything, 1)
            elif self.recurrent:
                yield from shuffled_sequences(everything, self.parts, generator)
            else:
                yield from shuffled_steps(everything, self.parts, generator)

    def loss(self, policy: Policy, minibatch: Minibatch, step: int) -> Loss:
        """Clipped loss of one minibatch."""
        out = policy(minibatch.observations, minibatch.state, minibatch.first)
        known, target, advantage = minibatch.known, minibatch.target, minibatch.advantage
        if self.normalise_advantage:
            advantage = standardise(advantage, known)
        log_ratio = policy.actions.log_probability(out.parameters, minibatch.actions) - minibatch.log_probs
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1.0 - self.clip, 1.0 + self.clip)
        policy_loss = -torch.minimum(ratio * advantage, clipped * advantage)
        entropy = policy.actions.entropy(out.parameters)
        value_error = self._value_error(out.value, minibatch)
        total, metrics = self.terms.total(policy_loss, value_error, entropy, out.value, target, known, step)
        kl, metrics["ppo/clipped"] = self._moved(ratio, log_ratio, known)
        metrics["ppo/kl"] = kl
        return Loss(total, metrics, stop=0 < self.max_kl < kl)

    def _moved(self, ratio: Tensor, log_ratio: Tensor, known: Tensor) -> tuple[float, float]:
        """How far the policy is from the one that played, and for which share of steps that is too far."""
        seen = array(known)
        beyond, log_ratios = array(ratio)[seen] - 1.0, array(log_ratio)[seen]
        count = max(1, beyond.size)
        with np.errstate(all="ignore"):
            divergence = (beyond - log_ratios).sum() / count  # http://joschu.net/blog/kl-approx.html, k3
            return float(divergence), float((np.abs(beyond) > self.clip).sum() / count)

    def _value_error(self, value: Tensor, minibatch: Minibatch) -> Tensor:
        error = self.terms.value_error(value, minibatch.target)
        if not self.value_clip:
            return error
        moved = (value - minibatch.values).clamp(-self.value_clip, self.value_clip)
        return torch.maximum(error, self.terms.value_error(minibatch.values + moved, minibatch.target))
