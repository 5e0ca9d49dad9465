"""Where workers meet who wait for each other."""

import torch
from torch import Tensor

AWAY, ARRIVED, DONE = range(3)  # not here, here with a gradient, here without


class Meeting:
    """Where workers meet: a place for each one's gradient, and who has come."""

    def __init__(self, workers: int, parameters: int) -> None:
        self.gradients = torch.zeros(workers, parameters)
        self.presence = torch.zeros(workers, dtype=torch.int64)
        self.updates = torch.zeros(1, dtype=torch.int64)
        self.rollouts = torch.zeros(1, dtype=torch.int64)

    def tensors(self) -> dict[str, Tensor]:
        """Everything by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}

    def share(self) -> None:
        """Move everything into shared memory."""
        for tensor in self.tensors().values():
            tensor.share_memory_()
