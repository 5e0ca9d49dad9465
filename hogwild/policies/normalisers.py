"""Input normalisation for pictures, part of the first convolution.

Raw game pictures teach slowly: most of a picture never changes, and what matters (a ball) is a few pixels of it.
Subtracting the mean picture and dividing by one deviation leaves what moves. The division is done to the few weights
instead of the many pixels.
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
