"""Independent switches, each on or off, straight from logits; sums over the last axis."""

import torch
from torch import Tensor
from torch.nn import functional as F


def log_probability(logits: Tensor, action: Tensor) -> Tensor:
    """Log-probability of switches [..., n] that are 0 or 1.

    >>> log_probability(torch.zeros(2), torch.tensor([1, 0])).exp().item()
    0.25
    """
    return -F.softplus(torch.where(action > 0, -logits, logits)).sum(-1)


def entropy(logits: Tensor) -> Tensor:
    """Entropy in nats, [...].

    >>> round(entropy(torch.zeros(1)).item(), 4)
    0.6931
    """
    # Of a probability p: the mean of softplus(-logit) where it is on and softplus(logit) where it is off.
    on = logits.sigmoid()
    return (on * F.softplus(-logits) + (1.0 - on) * F.softplus(logits)).sum(-1)


def sample(logits: Tensor, uniform: Tensor) -> Tensor:
    """Switches that are on where a random number in [0, 1) is below their probability.

    >>> sample(torch.tensor([0.0, 0.0]), torch.tensor([0.4, 0.6])).tolist()
    [1, 0]
    """
    return (uniform < logits.sigmoid()).long()


def divergence(logits: Tensor, others: Tensor) -> Tensor:
    """Kullback-Leibler divergence of switches with other logits from these, in nats, [...].

    >>> divergence(torch.tensor([1.0]), torch.tensor([1.0])).item()
    0.0
    """
    on = logits.sigmoid()
    of_on = F.softplus(-others) - F.softplus(-logits)
    of_off = F.softplus(others) - F.softplus(logits)
    return (on * of_on + (1.0 - on) * of_off).sum(-1)
