"""The categorical distribution over actions, straight from logits; every function is safe for logits of any size."""

import torch
from torch import Tensor


def log_probability(log_probs: Tensor, action: Tensor) -> Tensor:
    """Log-probability of each action; `log_probs` is [..., A] (a log-softmax), `action` is [...].

    >>> log_probability(torch.tensor([[0.25, 0.75]]).log(), torch.tensor([1])).exp().tolist()
    [0.75]
    """
    return log_probs.gather(-1, action.unsqueeze(-1)).squeeze(-1)


def entropy(log_probs: Tensor) -> Tensor:
    """Entropy in nats, [...]. A probability of zero adds nothing, however large the logits were.

    >>> round(entropy(torch.tensor([0.5, 0.5]).log()).item(), 4)
    0.6931
    """
    probabilities = log_probs.exp()
    return -(probabilities * log_probs.clamp_min(torch.finfo(log_probs.dtype).min)).sum(-1)


def sample(log_probs: Tensor, uniform: Tensor) -> Tensor:
    """Action whose cumulative probability first exceeds `uniform` in [0, 1), [...]; always a valid action.

    Rounding can leave the cumulative sum a little below `uniform`; the clamp keeps that from becoming an
    out-of-range action, which would hang an emulator.

    >>> sample(torch.tensor([[0.25, 0.75]]).log(), torch.tensor([0.3])).tolist()
    [1]
    """
    cumulative = log_probs.exp().cumsum(-1)
    return (cumulative <= uniform.unsqueeze(-1)).sum(-1).clamp_max(log_probs.shape[-1] - 1)


def sample_allowed(log_probs: Tensor, uniform: Tensor) -> Tensor:
    """As `sample`, where some actions have no probability at all: rounding never leads to one of these.

    >>> sample_allowed(torch.tensor([[0.5, 0.5, 0.0]]).log(), torch.tensor([0.99999994])).tolist()
    [1]
    """
    cumulative = log_probs.exp().cumsum(-1)
    return (cumulative / cumulative[..., -1:] <= uniform.unsqueeze(-1)).sum(-1)
