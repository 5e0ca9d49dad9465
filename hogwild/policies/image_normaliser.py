"""Input normalisation for pictures, folded into the first convolution.

Raw game pictures teach slowly: most of a picture never changes, and what matters (a ball) is a few pixels of it.
Subtracting the mean picture and dividing by one deviation leaves what moves. Since a convolution is linear,

    conv(W, (x - mean) / deviation) = conv(W / deviation, x) - conv(W / deviation, mean)

and the second term is one picture for the whole batch: normalising costs next to nothing.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F


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
        self.kept: tuple[Tensor, Tensor] | None = None

    def forward(self, images: Tensor) -> Tensor:
        """Convolved pictures, [B, filters, H', W']."""
        images = _channels_last(images) if torch.is_grad_enabled() else images.float()
        if self.padding != (0, 0):
            # Padding adds zeros to the normalised picture, so the mean has to leave before it.
            weight = self.weight / self.deviation
            return F.conv2d(images - self.mean, weight, self.bias, self.stride, self.padding)
        weight, bias = self.kept or self.folded()
        return F.conv2d(images, weight, None, self.stride) + bias

    def folded(self) -> tuple[Tensor, Tensor]:
        """Weight, and the picture of biases, of a plain convolution that does the same as this one."""
        assert self.bias is not None
        weight = self.weight / self.deviation
        return weight, self.bias[:, None, None] - F.conv2d(self.mean, weight, None, self.stride)


def _channels_last(images: Tensor) -> Tensor:
    """Pictures as decimals, channels last in memory: the backward pass of the first layer is twice as fast on them.

    Stacking the channels is the fastest way to get there.
    """
    return torch.stack(images.unbind(1), dim=-1).float().permute(0, 3, 1, 2)
