"""The estimate of means and deviations, to which every worker adds."""

import numpy as np
import torch

from hogwild.exchanges.shared import READY, STEPS, SharedWeights
from hogwild.link import InputSums

RUNNING_RATE = 1e-6  # weight of one new observation in a normaliser that keeps learning


def add_inputs(shared: SharedWeights, sums: InputSums, needed: int) -> None:
    """Add to the estimate, and publish it once `needed` steps were seen; call it with the lock held."""
    shared.counters[STEPS] += sums.steps
    is_ready = bool(shared.counter(READY))
    running = [each for each in shared.normalised if each.is_running]
    if is_ready and not running:
        return
    if is_ready and not shared.gathers:
        keep = (1.0 - RUNNING_RATE) ** sums.count
        shared.input_sums *= keep
        shared.input_count *= keep
    shared.input_count += sums.count
    shared.input_sums[0] += torch.tensor(sums.sum)
    shared.input_sums[1] += torch.tensor(sums.sum_of_squares)
    if shared.gathers or (not is_ready and float(shared.input_count) < needed):
        return
    views = dict(shared.layout.views(shared.weights))
    for each in running if is_ready else shared.normalised:
        part = shared.input_sums[:, each.columns].cpu().numpy()
        mean, deviation = mean_and_deviation(part, float(shared.input_count), each.is_pooled)
        into, spread = views[f"{each.name}.mean"], views[f"{each.name}.deviation"]
        into.copy_(torch.from_numpy(mean).view_as(into))
        spread.copy_(torch.from_numpy(np.where(deviation > each.smallest, deviation, each.instead)))
    shared.counters[READY] = 1


def mean_and_deviation(sums: np.ndarray, count: float, is_pooled: bool) -> tuple[np.ndarray, np.ndarray]:
    """From sums and sums of squares [2, n]: the mean of each number, and its deviation; or, pooled, the root of the
    mean of all variances.

    >>> mean, deviation = mean_and_deviation(np.array([[2.0, 6.0], [4.0, 20.0]]), 2, is_pooled=True)
    >>> mean.tolist(), deviation.tolist()
    ([1.0, 3.0], [1.0])
    """
    mean = sums[0] / count
    variance = (sums[1] / count - np.square(mean)).clip(0)
    return mean, np.sqrt(variance.mean(keepdims=True) if is_pooled else variance)
