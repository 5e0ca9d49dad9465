"""The exchange `weights`: one set of weights in memory that all workers share, to which each applies its gradients.

Lock-free, workers write at the same time and some additions are lost; that is Hogwild's bargain (arXiv:1106.5730).
Taking turns, each update is whole. Counts are exact either way: they are kept under a lock that is held for
microseconds, and that the kernel releases if its holder dies.
"""

import time
from contextlib import nullcontext

from torch import Tensor

from hogwild.config.settings import Settings
from hogwild.exchanges.normalising import add_inputs
from hogwild.exchanges.shared import DISCARDED, READY, SKIPPED, SKIPPED_IN_A_ROW, STEPS, VERSION, SharedWeights
from hogwild.exchanges.tape import Lock
from hogwild.learning import Gradients, Learner
from hogwild.link import Contribution, InputSums, Link, Pulled
from hogwild.report import Receipt


class WeightsLink(Link):
    """A link to the shared weights for whoever may change them: a worker, or what serves all workers."""

    def __init__(self, shared: SharedWeights, settings: Settings, rank: int, lock: Lock) -> None:
        self.shared = shared
        self.lock = lock
        self.turns = settings.execution.lock == "turns"
        self.max_lag = settings.execution.max_lag
        self.normalise_steps = settings.environment.normalise_steps
        self.set = rank % len(shared.counts)
        self.too_late = False
        self.learner = Learner(settings, rank, shared.parameters, shared.statistics[self.set])

    def pull(self, into: Tensor) -> Pulled:
        """Copy the shared weights."""
        shared = self.shared
        with self.lock if self.turns else nullcontext():
            # Counts first: whoever writes in between makes the weights newer than they claim, never older.
            pulled = Pulled(shared.counter(VERSION), shared.counter(STEPS), bool(shared.counter(READY)))
            into.copy_(shared.weights)
        return pulled

    def push(self, contribution: Contribution) -> Receipt:
        """Apply gradients to the shared weights, or add to the estimate of means and deviations."""
        if isinstance(contribution, InputSums):
            with self.lock:
                add_inputs(self.shared, contribution, self.normalise_steps)
            return Receipt()
        assert isinstance(contribution, Gradients)
        return self._apply(contribution) if contribution.is_finite else self._leave_out(contribution)

    def _leave_out(self, gradients: Gradients) -> Receipt:
        """Count steps whose gradients are of no use."""
        with self.lock:
            self.shared.counters[STEPS] += gradients.steps
            self.shared.counters[SKIPPED] += 1
            self.shared.counters[SKIPPED_IN_A_ROW] += 1
        return Receipt()

    def _apply(self, gradients: Gradients) -> Receipt:
        shared = self.shared
        asked = time.perf_counter()
        with self.lock:
            waited = time.perf_counter() - asked
            shared.counters[STEPS] += gradients.steps
            lags = tuple(shared.counter(VERSION) - played.version for played in gradients.played)
            if gradients.first:
                self.too_late = 0 < self.max_lag < max(lags)
                shared.counters[DISCARDED] += self.too_late
            if self.too_late:
                return Receipt()
            shared.counters[VERSION] += 1
            shared.counters[SKIPPED_IN_A_ROW] = 0
            shared.counts[self.set] += 1
            count, step = int(shared.counts[self.set]), shared.counter(STEPS)
            flat = gradients.flat.to(shared.weights.device)
            if self.turns:
                self.learner.apply(flat, count, step)
                self.lock.applied(shared)
        if not self.turns:
            self.learner.apply(flat, count, step)
        now = time.monotonic()
        metrics = {"async/lock_wait": waited * 1e3, "optimizer/learning_rate": self.learner.learning_rate(step)}
        return Receipt(metrics, lags, tuple(now - played.born for played in gradients.played))
