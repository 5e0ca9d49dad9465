"""Advantages and value targets from one rollout: Monte Carlo, n-step, and generalised advantage estimation.

All tensors are [T, N]. Three facts describe where episodes end:

- `discount` is the discount after step t: zero where the episode terminated, so nothing flows back over it;
- `next_value` is the value of what came after step t: the next observation's, or, where an episode was cut off
  (truncated), that of its real last observation;
- `cut` marks the last step of an episode, terminated or truncated: no trace crosses it.
"""

import torch
from torch import Tensor


def generalised_advantage(
    reward: Tensor, discount: Tensor, value: Tensor, next_value: Tensor, cut: Tensor, lam: float
) -> Tensor:
    """Generalised advantage estimate (arXiv:1506.02438), [T, N].

    With `lam=1` it is the n-step advantage over the rest of the rollout, with `lam=0` the one-step error.

    >>> one = torch.ones(2, 1)
    >>> generalised_advantage(one, 0.5 * one, 0 * one, 0 * one, one > 1, lam=1.0).flatten().tolist()
    [1.5, 1.0]
    """
    error = reward + discount * next_value - value
    decay = discount * lam * ~cut
    advantage = torch.empty_like(error)
    following = torch.zeros_like(error[0])
    for t in range(len(error) - 1, -1, -1):
        following = error[t] + decay[t] * following
        advantage[t] = following
    return advantage


def n_step_return(reward: Tensor, discount: Tensor, next_value: Tensor, cut: Tensor) -> Tensor:
    """Discounted rewards to the end of the rollout or episode, plus the value of what follows, [T, N].

    >>> one = torch.ones(2, 1)
    >>> n_step_return(one, 0.5 * one, 2 * one, one > 1).flatten().tolist()
    [2.0, 2.0]
    """
    result = torch.empty_like(reward)
    following = next_value[-1]
    for t in range(len(reward) - 1, -1, -1):
        following = reward[t] + discount[t] * torch.where(cut[t], next_value[t], following)
        result[t] = following
    return result


def monte_carlo_return(reward: Tensor, discount: Tensor, cut: Tensor) -> tuple[Tensor, Tensor]:
    """Discounted rewards to the end of the episode, without any bootstrap, and which steps have one, both [T, N].

    An episode that does not end within the rollout has no Monte Carlo return; its steps are marked False.
    A truncated episode's return is the sum of what was seen.

    >>> one = torch.ones(2, 1)
    >>> returns, known = monte_carlo_return(one, 0.5 * one, torch.tensor([[True], [False]]))
    >>> returns.flatten().tolist(), known.flatten().tolist()
    ([1.0, 1.0], [True, False])
    """
    result = torch.empty_like(reward)
    known = torch.empty_like(cut)
    following = torch.zeros_like(reward[0])
    ended = torch.zeros_like(cut[0])
    for t in range(len(reward) - 1, -1, -1):
        following = reward[t] + discount[t] * following * ~cut[t]
        ended = ended | cut[t]
        result[t] = following
        known[t] = ended
    return result, known
