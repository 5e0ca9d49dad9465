"""An objective of your own: which minibatches a rollout is cut into, and the loss of one. Here a self-imitating A3C.

hogwild train CartPole-v1 --objective own_objective:OnlyGoodNews
"""

import dataclasses

from hogwild.config.settings import Settings
from hogwild.objectives import A3C, Loss
from hogwild.objectives.minibatch import Minibatch
from hogwild.policies.policy import Policy


class OnlyGoodNews(A3C):
    """Learns from what went better than expected, and hardly from what went worse."""

    share = 0.2  # of a disappointment that counts

    @classmethod
    def of_worker(cls, settings: Settings, rank: int) -> "OnlyGoodNews":
        """The objective that the settings give to one worker."""
        return cls(**vars(A3C.of_worker(settings, rank)))

    def loss(self, policy: Policy, minibatch: Minibatch, step: int) -> Loss:
        """A3C's loss with other advantages."""
        advantage = minibatch.advantage.clamp_min(0) + self.share * minibatch.advantage.clamp_max(0)
        return super().loss(policy, dataclasses.replace(minibatch, advantage=advantage), step)
