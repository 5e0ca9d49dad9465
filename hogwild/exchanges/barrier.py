"""The exchange `barrier`: all workers wait for all, and their gradients become one update. Synchronous A2C and PPO.

Every worker computes the gradient of its own part, on its own core; whoever comes last applies the mean of them. A
worker whose rollout has nothing more to give counts as present, and all begin the next rollout together.
"""

import time

from torch import Tensor

from hogwild.config.settings import Settings, of_worker
from hogwild.exchanges.meeting import ARRIVED, AWAY, DONE, Meeting
from hogwild.exchanges.shared import SKIPPED, SKIPPED_IN_A_ROW, STEPS, VERSION, SharedWeights
from hogwild.exchanges.tape import Lock
from hogwild.exchanges.weights import WeightsLink
from hogwild.learning import Gradients, Learner, clip_
from hogwild.link import Contribution, InputSums, Link, Pulled
from hogwild.report import Receipt


class BarrierLink(Link):
    """A worker's link to all others."""

    def __init__(self, shared: SharedWeights, meeting: Meeting, settings: Settings, rank: int, lock: Lock) -> None:
        self.rank = rank
        self.shared = shared
        self.meeting = meeting
        self.lock = lock
        self.weights = WeightsLink(shared, settings, 0, lock)
        self.learner: Learner = self.weights.learner
        self.sums = settings.objective.reduction == "sum"
        self.max_norm = of_worker(settings.objective.max_grad_norm, 0)
        self.clipped: dict[str, float] = {}  # of the update that this worker made, until it is reported
        self.waits_for: int | None = None  # the update or rollout that this worker waits to see the end of

    def pull(self, into: Tensor) -> Pulled:
        """Copy the weights; nobody changes them before all have come."""
        return self.weights.pull(into)

    def push(self, contribution: Contribution) -> Receipt | None:
        """Come with a gradient; None until all others have come and the update is made."""
        if isinstance(contribution, InputSums):
            return self.weights.push(contribution)
        assert isinstance(contribution, Gradients)
        with self.lock:
            if self.waits_for is None:
                self.shared.counters[STEPS] += contribution.steps
                if not contribution.is_finite:  # it comes with nothing, or all others would wait
                    self.shared.counters[SKIPPED] += 1
                    self.shared.counters[SKIPPED_IN_A_ROW] += 1
                self.meeting.gradients[self.rank].copy_(contribution.flat)
                self._come(ARRIVED, int(self.meeting.updates))
            elif int(self.meeting.updates) == self.waits_for:
                self.lock.nothing_happened()
            if int(self.meeting.updates) == self.waits_for:
                return None
            self.waits_for = None
        return self._receipt(contribution)

    def finish(self) -> bool:
        """Come without a gradient; False until nobody has one."""
        with self.lock:
            if self.waits_for is None:
                self._come(DONE, int(self.meeting.rollouts))
            elif int(self.meeting.rollouts) == self.waits_for:
                self.lock.nothing_happened()
            if int(self.meeting.rollouts) == self.waits_for:
                return False
            self.waits_for = None
        return True

    def _come(self, presence: int, until: int) -> None:
        self.waits_for = until
        self.meeting.presence[self.rank] = presence
        if (self.meeting.presence == AWAY).any():
            return
        arrived = self.meeting.presence == ARRIVED
        if arrived.any():
            self._apply(arrived)
            self.meeting.presence[arrived] = AWAY
            self.meeting.updates += 1
        else:
            self.meeting.presence.fill_(AWAY)
            self.meeting.rollouts += 1

    def _apply(self, arrived: Tensor) -> None:
        """Make one update of the gradients that were brought, in the order of ranks whoever came last."""
        together = self.meeting.gradients[arrived].sum(0)
        if not self.sums:
            together /= int(arrived.sum())
        together = together.to(self.shared.weights.device)
        norm = clip_(together, self.max_norm)
        if self.max_norm:
            self.clipped = {"gradient/clipped": float(norm > self.max_norm)}
        self.shared.counters[VERSION] += 1
        self.shared.counters[SKIPPED_IN_A_ROW] *= int(norm == 0.0)  # all may have come with nothing
        self.shared.counts[0] += 1
        self.learner.apply(together, int(self.shared.counts[0]), self.shared.counter(STEPS))
        self.lock.applied(self.shared)

    def _receipt(self, gradients: Gradients) -> Receipt:
        step = self.shared.counter(STEPS)
        lags = tuple(self.shared.counter(VERSION) - 1 - played.version for played in gradients.played)
        ages = tuple(time.monotonic() - played.born for played in gradients.played)
        metrics, self.clipped = {"optimizer/learning_rate": self.learner.learning_rate(step)} | self.clipped, {}
        return Receipt(metrics, lags, ages)
