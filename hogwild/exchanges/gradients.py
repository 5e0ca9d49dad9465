"""The exchange `gradients`: workers send gradients, and an updater, which owns the weights, applies them.

A worker may add up the gradients of several rollouts before it sends them, and may go on with the weights it has for
several rollouts before it asks for newer ones; both trade lag for traffic.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import torch
from torch import Tensor

from hogwild.config.settings import Settings
from hogwild.exchanges.shared import DROPPED, STEPS, SharedWeights
from hogwild.exchanges.slots import Slots
from hogwild.exchanges.tape import Lock
from hogwild.exchanges.weights import WeightsLink
from hogwild.learning import Gradients
from hogwild.link import Contribution, InputSums, Link, Pulled
from hogwild.report import Receipt, Report
from hogwild.rollout import Played
from hogwild.turns import Door, Stopped, Turn


def gradient_slots(settings: Settings, shared: SharedWeights, workers: int) -> Slots:
    """Slots for gradients."""
    execution = settings.execution
    like = {"flat": torch.empty(shared.layout.num_parameters)}
    return Slots(workers, execution.slots, like, execution.accumulate)


class GradientsLink(Link):
    """A worker's link to the updater."""

    def __init__(self, shared: SharedWeights, slots: Slots, settings: Settings, rank: int, lock: Lock) -> None:
        self.rank = rank
        self.shared = shared
        self.slots = slots
        self.lock = lock
        self.execution = settings.execution
        self.weights = WeightsLink(shared, settings, rank, lock)
        self.sum = torch.zeros(shared.layout.num_parameters)
        self.sums = settings.objective.reduction == "sum"
        self.played: list[Played] = []
        self.rollouts = 0
        self.pulled = Pulled(version=0, step=0, ready=False)

    def pull(self, into: Tensor) -> Pulled:
        """Copy the shared weights, if it is time to; otherwise those pulled before are kept."""
        if self.rollouts % self.execution.pull_every == 0 or not self.pulled.ready:
            self.pulled = self.weights.pull(into)
        return self.pulled

    def finish(self) -> bool:
        """One more rollout was played on these weights."""
        self.rollouts += self.pulled.ready
        return True

    def push(self, contribution: Contribution) -> Receipt | None:
        """Add up gradients, and send them when there are enough of them and there is room."""
        if isinstance(contribution, InputSums):
            return self.weights.push(contribution)
        assert isinstance(contribution, Gradients)
        if not contribution.is_finite:
            return self.weights.push(contribution)
        complete = len(self.played) + 1 >= self.execution.accumulate
        if not complete:
            self._add(contribution)
            with self.lock:
                self.shared.counters[STEPS] += contribution.steps
            return Receipt()
        if self.execution.when_full == "drop-oldest":
            with self.lock:
                slot = self._slot_or_oldest()
                if slot is None:  # the updater is reading all of them
                    self.lock.nothing_happened()
                    return None
                self._fill(contribution, slot)
                return self._send(contribution, slot)
        slot = self.slots.free_slot(self.rank)
        if slot is None:
            return None
        self._fill(contribution, slot)
        with self.lock:
            return self._send(contribution, slot)

    def _add(self, gradients: Gradients) -> None:
        self.sum += gradients.flat.to(self.sum.device)
        self.played += gradients.played

    def _slot_or_oldest(self) -> int | None:
        slot = self.slots.free_slot(self.rank)
        if slot is None and (slot := self.slots.oldest_unread(self.rank)) is not None:
            self.shared.counters[DROPPED] += 1
        return slot

    def _fill(self, gradients: Gradients, slot: int) -> None:
        self._add(gradients)
        parts = 1 if self.sums else len(self.played)
        torch.div(self.sum, parts, out=self.slots.content("flat", slot))
        self.slots.seal(slot)

    def _send(self, gradients: Gradients, slot: int) -> Receipt:
        self.slots.hand_over(slot, self.played)
        self.shared.counters[STEPS] += gradients.steps
        self.sum.zero_()
        self.played = []
        return Receipt({"async/queue": self.slots.waiting()})

    def save(self) -> dict[str, Any]:
        """Gradients that were not sent yet, and when the next weights are due."""
        played = [list(each) for each in self.played]
        kept = {"rollouts": self.rollouts, "pulled": list(self.pulled)}
        return {"sum": self.sum.numpy().copy(), "played": played, **kept}

    def load(self, saved: dict[str, Any]) -> None:
        """Go on from what was saved."""
        self.sum.copy_(torch.from_numpy(saved["sum"]))
        self.played = [Played(*each) for each in saved["played"]]
        self.rollouts, self.pulled = saved["rollouts"], Pulled(*saved["pulled"])


class Updater:
    """What owns the weights and applies the gradients of all workers."""

    def __init__(self, settings: Settings, shared: SharedWeights, slots: Slots, rank: int, lock: Lock) -> None:
        self.rank = rank
        self.slots = slots
        self.lock = lock
        self.link = WeightsLink(shared, settings, 0, lock)

    def run(self, report: Callable[[Report], None], stopped: Callable[[], bool]) -> Iterator[Turn]:
        """Apply gradients in the order in which they came, until stopped and none are left."""
        door, slots = Door(self.link, stopped), self.slots
        with suppress(Stopped):
            while True:
                taken = yield from door.through(lambda: take(slots, 1, self.lock))
                if not slots.is_whole(taken[0]):
                    yield from door.through(partial(give_up, slots, taken, self.link.shared, self.lock))
                    continue
                gradients = Gradients(slots.content("flat", taken[0]), 0, slots.played(taken[0]))
                news = Report(self.rank)
                news.receive((yield from door.push(gradients)))
                yield from door.through(partial(release, slots, taken, self.lock))
                news.take(door.clock.metrics())
                report(news)

    def save(self) -> dict[str, Any]:
        """Nothing that is not in the shared memory."""
        return {}

    def load(self, saved: dict[str, Any]) -> None:
        """Nothing to load."""


def take(slots: Slots, count: int, lock: Lock) -> list[int] | None:
    """Take filled slots, if there are so many."""
    if slots.waiting() < count:
        return None
    with lock:
        taken = slots.take(count)
        if taken is None:  # another updater was faster
            lock.nothing_happened()
        return taken


def give_up(slots: Slots, broken: list[int], shared: SharedWeights, lock: Lock) -> bool:
    """Throw away what was only half written."""
    with lock:
        shared.counters[DROPPED] += len(broken)
        slots.release(broken)
    return True


def release(slots: Slots, taken: list[int], lock: Lock) -> bool:
    """Give slots back to their workers."""
    with lock:
        slots.release(taken)
    return True
