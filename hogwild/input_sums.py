"""Sums over the observations and returns of a rollout, from which means and deviations are estimated."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from hogwild.link import InputSums
from hogwild.policies.policy import Policy
from hogwild.rollout import Rollout


class InputSummer:
    """Adds up what a policy normalises."""

    def __init__(self, policy: Policy) -> None:
        normalised = policy.normalised()
        self.is_running = any(each.is_running for each in normalised)
        self.sums_returns = policy.rewards is not None
        self.columns = normalised[-1].columns.stop - self.sums_returns if normalised else 0  # of the observation

    def add_up(self, rollout: Rollout, returns: Sequence[np.ndarray], steps: int) -> InputSums:
        """Sums over one rollout and the discounted returns after each of its steps; `steps` are to be counted."""
        sums = torch.zeros(2, self.columns, dtype=torch.float64)
        if self.columns:
            for observations in rollout.observations[:-1].cpu():  # one time step after the other, to save memory
                sums += _sums(observations.flatten(1)[:, : self.columns])
        if self.sums_returns:
            sums = torch.cat([sums, _sums(torch.from_numpy(np.stack(returns)).reshape(-1, 1))], dim=1)
        return InputSums(rollout.steps, sums[0].numpy(), sums[1].numpy(), steps)


def _sums(values: Tensor) -> Tensor:
    """Sums and sums of squares [2, columns] of numbers [B, columns]."""
    decimals = values.float() if values.dtype == torch.uint8 else values.double()
    return torch.stack([decimals.sum(0), decimals.square().sum(0)]).double()
