"""The learner's side of what comes from other machines: parcels become slots and counts, weights become offers."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from hogwild.engines.ray.parcel import Counts, Goods, Offer, Parcel, played_by, unpack
from hogwild.exchanges.normalising import add_inputs
from hogwild.exchanges.shared import DROPPED, READY, SKIPPED, SKIPPED_IN_A_ROW, STEPS, VERSION, SharedWeights
from hogwild.exchanges.slots import Slots

LOOK_SECONDS = 0.0005  # between two looks at whether a slot is free


class Intake:
    """Takes parcels in; called by one thread for each machine."""

    def __init__(self, shared: SharedWeights, lock: AbstractContextManager[Any], normalise_steps: int) -> None:
        assert isinstance(shared.mailbox, Slots)
        self.shared = shared
        self.slots = shared.mailbox
        self.lock = lock
        self.normalise_steps = normalise_steps
        self.filling = threading.Lock()

    def take(self, parcel: Parcel, new: Counts, stopped: Callable[[], bool], oldest: int = 0) -> None:
        """Count what is `new`, and hand over what is to be learned from: what weights older than `oldest` have played
        is only counted."""
        counters, fresh = self.shared.counters, [each for each in parcel.goods if min(each.versions) >= oldest]
        with self.lock:
            counters[STEPS] += new.steps
            counters[SKIPPED] += new.skipped
            counters[SKIPPED_IN_A_ROW] += new.skipped
            counters[DROPPED] += new.dropped + len(parcel.goods) - len(fresh)
            if parcel.inputs is not None:
                add_inputs(self.shared, parcel.inputs, self.normalise_steps)
        for goods in fresh:
            self._hand_over(goods, stopped)

    def _hand_over(self, goods: Goods, stopped: Callable[[], bool]) -> None:
        """Wait for a free slot and fill it; whoever sends more than is learned from waits here."""
        with self.filling:
            while (slot := self.slots.free_slot(0)) is None:
                if stopped():
                    with self.lock:
                        self.shared.counters[DROPPED] += 1
                    return
                time.sleep(LOOK_SECONDS)
            unpack(goods, self.slots, slot)
            with self.lock:
                self.slots.hand_over(slot, played_by(goods, time.monotonic()), goods.shape)


class Publisher:
    """Tells machines the newest weights, copied once for each version, and only if somebody asks.

    Each machine is sent them with its question. To put them where all can fetch them would save the learner's line, but
    Ray lets a machine fetch from any that has them, so also from one that has just been cut off.
    """

    def __init__(self, shared: SharedWeights, lock: AbstractContextManager[Any]) -> None:
        self.shared = shared
        self.lock = lock
        self.mutex = threading.Lock()
        self.newest: Offer | None = None

    def offer(self, known: Offer | None, watched: tuple[int, ...] = ()) -> Offer:
        """What is to be told to a machine that knows of an earlier offer."""
        with self.mutex:
            with self.lock:  # whoever learns holds it while it changes them
                version, ready = self.shared.counter(VERSION), bool(self.shared.counter(READY))
                is_new = self.newest is None or (self.newest.version, self.newest.ready) != (version, ready)
                weights = self.shared.weights.to("cpu", copy=True).numpy() if is_new else None
            if weights is not None:
                self.newest = Offer(version, 0, ready, weights)
            assert self.newest is not None
            newest = self.newest
        has_it = known is not None and (known.version, known.ready) == (newest.version, newest.ready)
        return Offer(
            newest.version, self.shared.counter(STEPS), newest.ready, None if has_it else newest.weights, watched
        )
