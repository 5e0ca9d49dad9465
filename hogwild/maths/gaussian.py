"""The normal distribution over actions that are numbers, as it is or squashed by tanh; sums over the last axis.

A squashed action is known by what it was before: tanh forgets it, where it is large, and the density needs it.
"""

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
SMALLEST_DRAW = 2.0**-25  # half of the smallest step of a random number: 0 itself would be infinitely far away
PLACES, WEIGHTS = np.polynomial.hermite_e.hermegauss(32)  # of the quadrature, over a normal deviation


def log_probability(mean: Tensor, log_deviation: Tensor, action: Tensor) -> Tensor:
    """Log-density of each action, [...]; all that is given is [..., d].

    >>> density = log_probability(torch.zeros(1), torch.zeros(1), torch.zeros(1)).exp()
    >>> round(density.item(), 4)
    0.3989
    """
    away = (action - mean) * (-log_deviation).exp()
    return -(0.5 * away.square() + log_deviation + LOG_ROOT_2PI).sum(-1)


def entropy(log_deviation: Tensor) -> Tensor:
    """Entropy in nats, [...].

    >>> round(entropy(torch.zeros(1)).item(), 4)
    1.4189
    """
    return (log_deviation + 0.5 + LOG_ROOT_2PI).sum(-1)


def divergence(mean: Tensor, log_deviation: Tensor, other_mean: Tensor, other_log_deviation: Tensor) -> Tensor:
    """Kullback-Leibler divergence of another normal distribution from this one, in nats, [...].

    >>> divergence(torch.zeros(1), torch.zeros(1), torch.ones(1), torch.zeros(1)).item()
    0.5
    """
    wider = other_log_deviation - log_deviation
    apart = (mean - other_mean) * (-other_log_deviation).exp()
    return (wider + 0.5 * ((-2.0 * wider).exp() + apart.square() - 1.0)).sum(-1)


def sample(mean: Tensor, log_deviation: Tensor, uniform: Tensor) -> Tensor:
    """Actions [..., d] from random numbers in [0, 1), [..., d].

    >>> sample(torch.tensor([2.0]), torch.tensor([0.0]), torch.tensor([0.5])).tolist()
    [2.0]
    """
    drawn: Tensor = torch.special.ndtri(uniform.clamp(SMALLEST_DRAW, 1.0 - SMALLEST_DRAW))
    return mean + log_deviation.exp() * drawn


def squeezing(before: Tensor) -> Tensor:
    """Logarithm of the slope of tanh, safe for numbers of any size.

    >>> squeezing(torch.tensor([0.0])).abs().item() < 1e-6
    True
    """
    return 2.0 * (math.log(2.0) - before - F.softplus(-2.0 * before))


def squashed_log_probability(mean: Tensor, log_deviation: Tensor, before: Tensor) -> Tensor:
    """Log-density of tanh(before), [...]."""
    return log_probability(mean, log_deviation, before) - squeezing(before).sum(-1)


def squashed_entropy(mean: Tensor, log_deviation: Tensor) -> Tensor:
    """Entropy of the squashed action, [...]: there is no formula for it, so the slope is averaged at a few points.

    >>> round(squashed_entropy(torch.zeros(1), torch.tensor([-5.0])).item(), 2)  # too narrow for tanh to matter
    -3.58
    """
    at = torch.from_numpy(PLACES).to(mean)
    share = torch.from_numpy(WEIGHTS / WEIGHTS.sum()).to(mean)
    before = mean.unsqueeze(-1) + log_deviation.exp().unsqueeze(-1) * at
    return entropy(log_deviation) + (squeezing(before) * share).sum(-1).sum(-1)


def with_floor(log_deviation: Tensor, floor: float) -> Tensor:
    """Deviations that come near `floor` but never below it: their squares are added.

    >>> round(with_floor(torch.tensor(0.0), 0.75).exp().item(), 4)
    1.25
    """
    if not floor:
        return log_deviation
    return 0.5 * torch.logaddexp(2.0 * log_deviation, torch.full_like(log_deviation, 2.0 * math.log(floor)))
