"""An encoder of your own: it is made with the shape of an observation, and says how many features it answers.

hogwild train CartPole-v1 --encoder own_encoder:Residual
"""

import torch
from torch import Tensor, nn


class Residual(nn.Module):
    """Two layers, the second of which adds to what the first has found."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.outputs = 64
        self.first = nn.Linear(shape[0], self.outputs)
        self.second = nn.Linear(self.outputs, self.outputs)

    def forward(self, observations: Tensor) -> Tensor:
        """Features [B, outputs] of observations [B, *shape]."""
        found = torch.tanh(self.first(observations))
        return found + torch.tanh(self.second(found))
