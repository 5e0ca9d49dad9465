"""The estimate of the mean picture, to which every worker adds before learning begins."""

import numpy as np
import torch

from hogwild.config.settings import EnvSettings
from hogwild.exchanges.shared import DEVIATION, MEAN, READY, STEPS, SharedWeights
from hogwild.link import PictureSums

RUNNING_RATE = 1e-6  # weight of one new picture in a normaliser that keeps learning


def add_pictures(shared: SharedWeights, sums: PictureSums, environment: EnvSettings) -> None:
    """Add to the estimate, and publish it with the weights once enough was seen; call it with the lock held."""
    shared.counters[STEPS] += sums.steps
    if shared.counter(READY) and environment.normalise != "running":
        return
    if shared.counter(READY):
        keep = (1.0 - RUNNING_RATE) ** sums.count
        shared.picture_sums *= keep
        shared.picture_count *= keep
    shared.picture_count += sums.count
    shared.picture_sums[0] += torch.from_numpy(sums.sum.reshape(-1))
    shared.picture_sums[1] += torch.from_numpy(sums.sum_of_squares.reshape(-1))
    if float(shared.picture_count) >= environment.normalise_steps:
        _publish(shared)


def _publish(shared: SharedWeights) -> None:
    mean, deviation = picture_normaliser(shared.picture_sums.cpu().numpy(), float(shared.picture_count))
    views = dict(shared.layout.views(shared.weights))
    views[MEAN].copy_(torch.from_numpy(mean).view_as(views[MEAN]))
    views[DEVIATION].fill_(max(deviation, shared.smallest_deviation))
    shared.counters[READY] = 1


def picture_normaliser(sums: np.ndarray, count: float) -> tuple[np.ndarray, float]:
    """Mean picture, and the root of the mean variance of what is left, from sums and sums of squares [2, pixels].

    >>> mean, deviation = picture_normaliser(np.array([[2.0, 6.0], [4.0, 20.0]]), 2)
    >>> mean.tolist(), deviation
    ([1.0, 3.0], 1.0)
    """
    mean = sums[0] / count
    variance = (sums[1] / count - np.square(mean)).clip(0)
    return mean, float(np.sqrt(variance.mean()))
