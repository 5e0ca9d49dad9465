"""V-trace (arXiv:1802.01561): value targets and advantages for steps that an older policy took.

All tensors are [T, N]; `discount`, `next_value` and `cut` are as in `returns`.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class VTraceTargets(NamedTuple):
    """What the steps are worth under the new policy."""

    target: Tensor
    advantage: Tensor


def vtrace(
    log_ratio: Tensor,
    reward: Tensor,
    discount: Tensor,
    value: Tensor,
    next_value: Tensor,
    cut: Tensor,
    limits: tuple[float, float] = (1.0, 1.0),
    lam: float = 1.0,
) -> VTraceTargets:
    """Targets and advantages; `log_ratio` is new minus old log-probability of the actions taken.

    `limits` are ρ̄ and c̄ of the paper: the largest weight of a step, and of its part in the trace.

    Where both policies agree and `lam` is 1, the targets are the n-step returns.

    >>> one = torch.ones(2, 1)
    >>> vtrace(0 * one, one, 0.5 * one, 0 * one, 0 * one, one > 1).target.flatten().tolist()
    [1.5, 1.0]
    """
    ratio = log_ratio.exp()
    rho = ratio.clamp_max(limits[0])
    decay = discount * lam * ratio.clamp_max(limits[1]) * ~cut
    error = rho * (reward + discount * next_value - value)
    correction = torch.empty_like(error)
    following = torch.zeros_like(error[0])
    for t in range(len(error) - 1, -1, -1):
        following = error[t] + decay[t] * following
        correction[t] = following
    target = value + correction
    after = torch.cat([target[1:], next_value[-1:]])
    advantage = rho * (reward + discount * torch.where(cut, next_value, after) - value)
    return VTraceTargets(target, advantage)
