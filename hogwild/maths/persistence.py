"""Exploring that lasts: random draws that several steps in a row share.

An action is drawn by comparing one number in [0, 1) with the cumulative probabilities. Where steps share the number,
an agent that has not made up its mind does the same thing for a while, and gets somewhere; where it has, nothing
changes. The idea is that of coloured noise (arXiv:2312.11091), for discrete actions.

It is a bias, taken on purpose. Each number by itself is uniform; but where an agent has got to says something about the
number that it holds, so that what it does there is not quite what its policy says. And since more of the same follows,
an action is credited with what going on with it brings. Both end when persistence has faded.
"""

import torch
from torch import Tensor


def spread(persistence: float, envs: int) -> Tensor:
    """The chance of each environment to keep its draw, [N]: from 0 to `persistence`, which a single one has itself.

    >>> spread(0.75, 4).tolist()
    [0.0, 0.25, 0.5, 0.75]
    """
    return torch.linspace(0.0, persistence, envs) if envs > 1 else torch.full((envs,), persistence)


def hold(fresh: Tensor, kept: Tensor, last: Tensor) -> Tensor:
    """Draws, [T, N], of which those that are `kept` repeat the one before; before the first there was `last`, [N].

    >>> kept = torch.tensor([[True], [False], [True]])
    >>> hold(torch.tensor([[0.25], [0.5], [0.75]]), kept, last=torch.tensor([0.0])).flatten().tolist()
    [0.0, 0.5, 0.5]
    """
    held = torch.empty_like(fresh)
    for t in range(len(fresh)):
        held[t] = last = torch.where(kept[t], last, fresh[t])
    return held
