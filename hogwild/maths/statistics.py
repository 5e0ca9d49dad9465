"""Summaries of episode returns."""

import math
from collections.abc import Sequence

import numpy as np


def mean_with_interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and half the width of its 95 % confidence interval by Student's t.

    >>> mean, half = mean_with_interval([1.0, 2.0, 3.0])
    >>> round(mean, 3), round(half, 3)
    (2.0, 2.484)
    """
    if len(values) < 2:
        return float(np.mean(values)) if len(values) else math.nan, math.nan
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return float(np.mean(values)), student_t_95(len(values) - 1) * error


def student_t_95(degrees: int) -> float:
    """Two-sided 95 % quantile of Student's t: a table for few degrees, Cornish-Fisher's expansion above.

    >>> student_t_95(4), round(student_t_95(99), 3)
    (2.776, 1.984)
    """
    table = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
    if degrees <= len(table):
        return table[degrees - 1]
    z = 1.959964
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3
