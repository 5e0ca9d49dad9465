"""Advantage actor-critic (arXiv:1602.01783): the policy gradient, a value error, and an entropy bonus."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch

from hogwild.config.settings import Settings
from hogwild.objectives.minibatch import Minibatch, in_order, whole
from hogwild.objectives.objective import Loss
from hogwild.objectives.targets import Targets, standardise
from hogwild.objectives.terms import Terms
from hogwild.policies.policy import Policy
from hogwild.rollout import Rollout


@dataclass(frozen=True)
class A3C:
    """The A3C objective of one worker: every step is learned from once."""

    targets: Targets = field(default_factory=Targets)
    terms: Terms = field(default_factory=Terms)
    parts: int = 1
    normalise_advantage: bool = False

    @classmethod
    def of_worker(cls, settings: Settings, rank: int) -> "A3C":
        """The objective that the settings give to worker `rank`."""
        return cls(
            Targets.of_worker(settings, rank),
            Terms.of_worker(settings, rank),
            settings.objective.minibatches,
            settings.objective.normalise_advantage,
        )

    def minibatches(self, rollout: Rollout, generator: torch.Generator) -> Iterator[Minibatch]:  # noqa: ARG002
        """The environments of the rollout, in equal parts."""
        yield from in_order(whole(rollout, self.targets), self.parts)

    def loss(self, policy: Policy, minibatch: Minibatch, step: int) -> Loss:
        """Policy gradient loss of one minibatch."""
        out = policy(minibatch.observations, minibatch.state, minibatch.first)
        advantage = minibatch.advantage
        if self.normalise_advantage:
            advantage = standardise(advantage, minibatch.known)
        policy_loss = -policy.actions.log_probability(out.parameters, minibatch.actions) * advantage
        entropy = policy.actions.entropy(out.parameters)
        value_error = self.terms.value_error(out.value, minibatch.target)
        target, known = minibatch.target, minibatch.known
        return Loss(*self.terms.total(policy_loss, value_error, entropy, out.value, target, known, step))
