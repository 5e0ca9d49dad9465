"""The exchange `weights`: one set of weights in memory that all workers share, to which each applies its gradients.

Lock-free, workers write at the same time and some additions are lost; that is Hogwild's bargain (arXiv:1106.5730).
Taking turns, each update is whole. Counts are exact either way: they are kept under a lock that is held for
microseconds, and that the kernel releases if its holder dies.
"""

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hogwild.config.settings import Settings
from hogwild.exchanges.link import Contribution, PictureSums, Pulled
from hogwild.learning import Gradients, Learner
from hogwild.optimizers import initial_statistics
from hogwild.policies.flat import FlatLayout

VERSION, STEPS, STOP, READY = range(4)
MEAN, DEVIATION = "encoder.convolutions.0.mean", "encoder.convolutions.0.deviation"
RUNNING_RATE = 1e-6  # weight of one new picture in a normaliser that keeps learning


class SharedWeights:
    """All numbers that workers share; ordinary tensors, which `share` moves into shared memory."""

    def __init__(self, flat: Tensor, layout: FlatLayout, settings: Settings, workers: int) -> None:
        sets = 1 if settings.optimizer.shared_statistics else workers
        statistics = initial_statistics(settings.optimizer.optimizer, layout.num_parameters)
        self.layout = layout
        self.weights = flat.clone()
        self.statistics = statistics.repeat(sets, 1, 1)  # [sets, k, parameters]
        self.counts = torch.zeros(sets, dtype=torch.int64)  # updates that each set has seen
        self.counters = torch.zeros(8, dtype=torch.int64)
        buffers = dict(layout.views(flat))
        self.picture_sums = torch.zeros(2, buffers[MEAN].numel() if MEAN in buffers else 0, dtype=torch.float64)
        self.picture_count = torch.zeros(1, dtype=torch.float64)
        self.smallest_deviation = float(buffers[DEVIATION]) / 255 if DEVIATION in buffers else 0.0

    def tensors(self) -> dict[str, Tensor]:
        """Everything by name, for checkpoints."""
        return {k: v for k, v in vars(self).items() if isinstance(v, Tensor)}

    def share(self) -> None:
        """Move everything into shared memory."""
        for tensor in self.tensors().values():
            tensor.share_memory_()

    def counter(self, which: int) -> int:
        """One of the counts that all workers share."""
        return int(self.counters[which])


class WeightsLink:
    """A worker's link to the shared weights."""

    def __init__(
        self,
        shared: SharedWeights,
        settings: Settings,
        rank: int,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        self.shared = shared
        self.lock: AbstractContextManager[Any] = lock or nullcontext()
        self.turns = settings.execution.lock == "turns"
        self.environment = settings.environment
        self.set = rank % len(shared.counts)
        parameters = shared.weights[: shared.layout.num_parameters]
        self.learner = Learner(settings, rank, parameters, shared.statistics[self.set])

    def pull(self, into: Tensor) -> Pulled:
        """Copy the shared weights."""
        shared = self.shared
        with self.lock if self.turns else nullcontext():
            # Counts first: whoever writes in between makes the weights newer than they claim, never older.
            pulled = Pulled(shared.counter(VERSION), shared.counter(STEPS), bool(shared.counter(READY)))
            into.copy_(shared.weights)
        return pulled

    def push(self, contribution: Contribution) -> dict[str, float]:
        """Apply gradients to the shared weights, or add to the estimate of the mean picture."""
        if isinstance(contribution, PictureSums):
            self._add_pictures(contribution)
            return {}
        return self._apply(contribution)

    def _apply(self, gradients: Gradients) -> dict[str, float]:
        shared = self.shared
        asked = time.perf_counter()
        with self.lock:
            waited = time.perf_counter() - asked
            lag = shared.counter(VERSION) - gradients.version
            shared.counters[VERSION] += 1
            shared.counters[STEPS] += gradients.steps
            shared.counts[self.set] += 1
            count, step = int(shared.counts[self.set]), shared.counter(STEPS)
            if self.turns:
                self.learner.apply(gradients, count, step)
        if not self.turns:
            self.learner.apply(gradients, count, step)
        rate = self.learner.learning_rate(step)
        return {"async/lag": lag, "async/lock_wait": waited * 1e3, "optimizer/learning_rate": rate}

    def _add_pictures(self, sums: PictureSums) -> None:
        shared = self.shared
        with self.lock:
            shared.counters[STEPS] += sums.steps
            if shared.counter(READY) and self.environment.normalise != "running":
                return
            if shared.counter(READY):
                keep = (1.0 - RUNNING_RATE) ** sums.count
                shared.picture_sums *= keep
                shared.picture_count *= keep
            shared.picture_count += sums.count
            shared.picture_sums[0] += torch.from_numpy(sums.sum.reshape(-1))
            shared.picture_sums[1] += torch.from_numpy(sums.sum_of_squares.reshape(-1))
            if float(shared.picture_count) >= self.environment.normalise_steps:
                self._publish_pictures()

    def _publish_pictures(self) -> None:
        shared = self.shared
        mean, deviation = picture_normaliser(shared.picture_sums.numpy(), float(shared.picture_count))
        views = dict(shared.layout.views(shared.weights))
        views[MEAN].copy_(torch.from_numpy(mean).view_as(views[MEAN]))
        views[DEVIATION].fill_(max(deviation, shared.smallest_deviation))
        shared.counters[READY] = 1

    def close(self) -> None:
        """Shared memory is released with its last user."""


def picture_normaliser(sums: np.ndarray, count: float) -> tuple[np.ndarray, float]:
    """Mean picture, and the root of the mean variance of what is left, from sums and sums of squares [2, pixels].

    >>> mean, deviation = picture_normaliser(np.array([[2.0, 6.0], [4.0, 20.0]]), 2)
    >>> mean.tolist(), deviation
    ([1.0, 3.0], 1.0)
    """
    mean = sums[0] / count
    variance = (sums[1] / count - np.square(mean)).clip(0)
    return mean, float(np.sqrt(variance.mean()))
