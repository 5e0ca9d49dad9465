"""The IMPALA objective (arXiv:1802.01561): a policy gradient corrected for how old its rollouts are."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch

from hogwild.config.settings import Settings, of_worker
from hogwild.maths.vtrace import vtrace
from hogwild.objectives.objective import Loss
from hogwild.objectives.targets import standardise
from hogwild.objectives.terms import Terms
from hogwild.policies.policy import Policy
from hogwild.rollout import Rollout


@dataclass(frozen=True)
class VTrace:
    """The V-trace objective of one worker or learner; its minibatches are rollouts of fewer environments."""

    terms: Terms = field(default_factory=Terms)
    discount: float = 0.99
    gae_lambda: float = 1.0
    rho_max: float = 1.0
    c_max: float = 1.0
    parts: int = 1
    normalise_advantage: bool = False

    @classmethod
    def of_worker(cls, settings: Settings, rank: int) -> "VTrace":
        """The objective that the settings give to worker `rank`."""
        chosen = settings.objective
        return cls(
            Terms.of_worker(settings, rank),
            discount=of_worker(chosen.discount, rank),
            gae_lambda=of_worker(chosen.gae_lambda, rank),
            rho_max=chosen.rho_max,
            c_max=chosen.c_max,
            parts=chosen.minibatches,
            normalise_advantage=chosen.normalise_advantage,
        )

    def minibatches(self, rollout: Rollout, generator: torch.Generator) -> Iterator[Rollout]:  # noqa: ARG002
        """The environments of the rollout, in equal parts."""
        return rollout.parts(self.parts)

    def loss(self, policy: Policy, minibatch: Rollout, step: int) -> Loss:
        """Corrected policy gradient loss of some sequences."""
        rollout = minibatch
        both = policy(rollout.observations, rollout.state, rollout.first)
        parameters, value = both.parameters[:-1], both.value[:-1]
        taken = policy.actions.log_probability(parameters, rollout.actions)
        with torch.no_grad():
            log_ratio = taken - rollout.log_probs
            target, advantage = vtrace(
                log_ratio,
                rollout.rewards,
                self.discount * ~rollout.terminated,
                value,
                torch.where(rollout.truncated, rollout.final_value, both.value[1:]),
                rollout.terminated | rollout.truncated,
                (self.rho_max, self.c_max),
                self.gae_lambda,
            )
            known = torch.ones_like(rollout.terminated)
            if self.normalise_advantage:
                advantage = standardise(advantage, known)
        entropy = policy.actions.entropy(parameters)
        value_error = self.terms.value_error(value, target)
        total, metrics = self.terms.total(-taken * advantage, value_error, entropy, value, target, known, step)
        metrics["vtrace/ratio"] = log_ratio.exp().mean().item()
        metrics["vtrace/clipped"] = (log_ratio.exp() > self.rho_max).float().mean().item()
        return Loss(total, metrics)
