"""Where workers meet who wait for each other."""

import torch

from hogwild.shareable import Shareable

AWAY, ARRIVED, DONE = range(3)  # not here, here with a gradient, here without


class Meeting(Shareable):
    """Where workers meet: a place for each one's gradient, and who has come."""

    def __init__(self, workers: int, parameters: int) -> None:
        self.gradients = torch.zeros(workers, parameters)
        self.presence = torch.zeros(workers, dtype=torch.int64)
        self.updates = torch.zeros(1, dtype=torch.int64)
        self.rollouts = torch.zeros(1, dtype=torch.int64)

    def forget_taken(self) -> int:
        """Nobody reads here but workers."""
        return 0
