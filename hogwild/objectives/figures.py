"""Figures of an update for reports; of few numbers NumPy makes them faster than torch."""

import math

import numpy as np
from torch import Tensor


def array(tensor: Tensor) -> np.ndarray:
    """The numbers of a tensor.

    >>> import torch
    >>> array(torch.ones(2, requires_grad=True)).sum()
    np.float32(2.0)
    """
    return tensor.detach().cpu().numpy()


def explained_variance(predicted: np.ndarray, actual: np.ndarray) -> float:
    """Share of the variance of `actual` that `predicted` explains: 1 is perfect, 0 no better than a constant.

    >>> explained_variance(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    1.0
    """
    # In single precision the mean of equal numbers may be another one.
    variance = actual.var(dtype=np.float64) if actual.size > 1 else 0.0
    return float(1.0 - (actual - predicted).var(dtype=np.float64) / variance) if variance else math.nan
