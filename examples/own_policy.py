"""A policy of your own: change one thing of ours, or write all of it. Here the value does not disturb the encoder.

hogwild train CartPole-v1 --policy-class own_policy:Apart
"""

from torch import Tensor

from hogwild import Policy
from hogwild.policies.policy import Output


class Apart(Policy):
    """Values are read from the features, but their errors do not change them."""

    def forward(self, observations: Tensor, state: Tensor, first: Tensor) -> Output:
        """Distributions and values for observations [T, N, …]."""
        steps, envs = first.shape
        features = self.encoder(observations.flatten(0, 1)).view(steps, envs, -1)
        features, state = self.memory(features, state, first)
        parameters = self.actions.parameters(self.actor(features), self.allowed(observations))
        return Output(parameters, self.critic(features.detach()).squeeze(-1), state)
