"""Through the agent's eyes: where in the picture a change alters the decision, and what each layer makes of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hogwild.policies.policy import Policy

PLACES = 16  # along the longer side of the picture, at most
COLUMNS = 8  # of feature maps in a row


def saliency(policy: Policy, observation: Tensor, state: Tensor, first: Tensor) -> np.ndarray:
    """How far the distribution of actions moves when a place is blurred, in nats: [rows, columns] of places.

    A place is blurred softly and all the stacked pictures alike, so that what moved there is gone (Greydanus et al.,
    arXiv:1711.00138). Nothing is differentiated: it is the answer to another picture.
    """
    height, width = observation.shape[-2:]
    stride = max(1, -(-max(height, width) // PLACES))
    rows, columns = (torch.arange(stride // 2, size, stride) for size in (height, width))
    down, right = torch.arange(height)[:, None], torch.arange(width)[None, :]
    centres = torch.cartesian_prod(rows, columns)
    distance = (down - centres[:, 0, None, None]) ** 2 + (right - centres[:, 1, None, None]) ** 2
    mask = torch.exp(-distance / (2 * (stride / 1.5) ** 2))[:, None]  # [places, 1, height, width]
    picture = observation.float()
    changed = picture + mask * (blurred(picture, stride) - picture)
    with torch.no_grad():
        before = policy(picture[None, None], state, first).parameters[0, 0]
        count = len(centres)
        after = policy(changed[None], state.expand(count, -1), first.expand(1, count)).parameters[0]
    moved = policy.actions.divergence(before, after).clamp_min(0)
    found: np.ndarray = moved.view(len(rows), len(columns)).numpy()
    return found


def blurred(picture: Tensor, radius: int) -> Tensor:
    """Every pixel of a stack [channels, height, width] as the mean of those around it."""
    radius = min(radius, picture.shape[-1] - 1, picture.shape[-2] - 1)
    padded = F.pad(picture[None], (radius,) * 4, mode="reflect")
    return F.avg_pool2d(padded, 2 * radius + 1, stride=1)[0]


@contextmanager
def listening(policy: Policy) -> Iterator[dict[str, Tensor]]:
    """What every layer of the encoder and the memory answer while the policy is asked, by name."""
    heard: dict[str, Tensor] = {}

    def listen(name: str) -> Any:
        def hear(module: nn.Module, inputs: Any, output: Any) -> None:  # noqa: ARG001
            heard[name] = (output[0] if isinstance(output, tuple) else output).detach().float()

        return hear

    layers: list[tuple[str, nn.Module]] = [
        (n, m) for n, m in policy.encoder.named_modules() if isinstance(m, nn.Conv2d | nn.Linear)
    ]
    if policy.memory.state_size:
        layers.append(("memory", policy.memory))
    handles = [module.register_forward_hook(listen(name)) for name, module in layers]
    try:
        yield heard
    finally:
        for handle in handles:
            handle.remove()


def mosaic(activity: Tensor) -> np.ndarray:
    """What a layer answered to one observation as a grey picture: its maps side by side, or its units in rows.

    >>> mosaic(torch.ones(1, 16, 3, 3)).shape, mosaic(torch.ones(1, 256)).shape
    ((7, 31), (8, 32))
    """
    active = activity.relu()
    values = (active / active.max().clamp_min(1e-9) * 255).byte().numpy()
    if values.ndim != 4:
        units = values.reshape(-1)
        columns = min(32, len(units))
        return np.pad(units, (0, -len(units) % columns)).reshape(-1, columns)
    maps = values[0]
    count, height, width = maps.shape
    rows = -(-count // COLUMNS)
    columns = min(count, COLUMNS)
    grid = np.zeros((rows * (height + 1) - 1, columns * (width + 1) - 1), dtype=np.uint8)
    for index, each in enumerate(maps):
        top, left = index // COLUMNS * (height + 1), index % COLUMNS * (width + 1)
        grid[top : top + height, left : left + width] = each
    return grid
