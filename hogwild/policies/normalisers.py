"""Normalisation of what goes in: of pictures, as part of the first convolution, and of vectors.

Raw game pictures teach slowly: most of a picture never changes, and what matters (a ball) is a few pixels of it.
Subtracting the mean picture and dividing by one deviation leaves what moves. The division is done to the few weights
instead of the many pixels. In a vector every number has a mean and a deviation of its own.

Means and deviations are buffers, so that they travel with the weights and are saved with them. Workers send sums of
what they have seen; `Normalised` says what of these sums belongs where.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

FARTHEST = 10.0  # deviations; what is farther away, in a vector or of rewards, counts as this far


@dataclass(frozen=True)
class Normalised:
    """Something that is normalised."""

    name: str  # of the module whose buffers `mean` and `deviation` hold what is known
    columns: slice  # of the sums
    is_pooled: bool  # one deviation for all of them
    smallest: float  # deviation that is believed
    instead: float  # of one that is smaller
    is_running: bool  # whether it is learned as long as there is training


class ScaledConv2d(nn.Conv2d):
    """Convolution of (x - mean) / deviation, where `mean` is a picture and `deviation` one number.

    Until an estimate is loaded the mean is 0 and the deviation `scale`: 255 brings bytes to the usual [0, 1].
    """

    def __init__(
        self, shape: Sequence[int], scale: float, filters: int, kernel: int, stride: int, padding: int
    ) -> None:
        super().__init__(shape[0], filters, kernel, stride, padding)
        self.register_buffer("mean", torch.zeros(1, *shape))
        self.register_buffer("deviation", torch.full((1,), scale))
        self.mean: Tensor
        self.deviation: Tensor

    def forward(self, images: Tensor) -> Tensor:
        """Convolved pictures, [B, filters, H', W']."""
        # The mean leaves before pictures are rounded to bfloat16: what is left of them is small, and rounds finely.
        centred = _centred(images, self.mean)
        return F.conv2d(centred, self.weight / self.deviation, self.bias, self.stride, self.padding)


def _centred(images: Tensor, mean: Tensor) -> Tensor:
    """Pictures as decimals, less the mean picture.

    Learning in single precision wants channels last in memory: the backward pass of the first layer is twice as fast
    on them, and stacking the channels is the fastest way to get there. Acting, and bfloat16, want them first.
    """
    if not torch.is_grad_enabled() or torch.is_autocast_enabled(images.device.type):
        return images.to(torch.float32, copy=True).sub_(mean)
    last = torch.stack(images.unbind(1), dim=-1).float().sub_(mean.permute(0, 2, 3, 1).contiguous())
    return last.permute(0, 3, 1, 2)


class PictureNormaliser(nn.Module):
    """(x - mean) / deviation for pictures, with a mean picture and one deviation, before somebody else's network."""

    def __init__(self, shape: Sequence[int], scale: float) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(1, *shape))
        self.register_buffer("deviation", torch.full((1,), scale))
        self.mean: Tensor
        self.deviation: Tensor

    def forward(self, pictures: Tensor) -> Tensor:
        """Normalised pictures, [B, C, H, W]."""
        return (pictures - self.mean) / self.deviation


class VectorNormaliser(nn.Module):
    """(x - mean) / deviation for each number of a vector, held within ±10."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("deviation", torch.ones(size))
        self.mean: Tensor
        self.deviation: Tensor

    def forward(self, vectors: Tensor) -> Tensor:
        """Normalised vectors, [B, size]."""
        return ((vectors - self.mean) / self.deviation).clamp(-FARTHEST, FARTHEST)


class RewardNormaliser(nn.Module):
    """The deviation of discounted returns, by which rewards are divided; they keep their sign and their zero."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(1))
        self.register_buffer("deviation", torch.ones(1))
        self.mean: Tensor
        self.deviation: Tensor
