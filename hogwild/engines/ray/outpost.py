"""The workers of one machine, as those elsewhere see them: they hand over parcels, and are given weights.

Workers share memory with each other as on one machine; all that is missing is whoever learns. Nothing here knows Ray.
"""

import tempfile
import time
import traceback
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hogwild.config.settings import Settings
from hogwild.engines.crew import Carried, Crew, Onlookers
from hogwild.engines.processes import ProcessEngine
from hogwild.engines.ray.forwarding import Printed, Relay, read_capsules
from hogwild.engines.ray.parcel import Counts, Goods, Offer, Parcel, pack_gradients, pack_rollout
from hogwild.errors import HogwildError
from hogwild.exchanges.make import MOST_ROLLOUTS, make_shared
from hogwild.exchanges.shared import DROPPED, READY, SKIPPED, STEPS, VERSION
from hogwild.exchanges.slots import Slots
from hogwild.faults.keeper import Keeper
from hogwild.link import InputSums
from hogwild.machine import devices_here
from hogwild.policies.make import make_policy
from hogwild.policies.spec import PolicySpec
from hogwild.report import Report

PATIENCE = 0.25  # seconds after which an empty parcel is sent, so that those elsewhere know that we live
LARGEST = 16 * 1024**2  # bytes of rollouts in one parcel, if it holds more than one
LOOK_SECONDS = 0.001  # between two looks at whether a worker has handed something over


@dataclass(frozen=True)
class Order:
    """What an outpost is to do."""

    settings: Settings
    spec: PolicySpec
    machine: str  # its name
    ranks: tuple[int, ...]  # of its workers among all
    incarnation: int  # another for every outpost that has these workers, so that they play other games
    carried: tuple[Carried, ...] = ()
    onlookers: Onlookers | None = None
    folder: Path | None = None  # of the run, if it can be reached from there


class Outpost:
    """Workers in processes of their own, and a stream of what they hand over."""

    def __init__(self, order: Order) -> None:
        self.order = order
        # Only the learner knows when it is enough.
        settings = order.settings.update(workers=len(order.ranks), engine="processes", steps=0, minutes=0.0)
        settings = settings.update(device=devices_here(settings.execution.device))
        self.is_half = settings.execution.compress == "bfloat16"
        self.is_sum = settings.objective.reduction == "sum"
        self.takes_rollouts = settings.execution.exchange == "trajectories"
        self.most = len(order.ranks) * settings.execution.slots
        self.shared = make_shared(settings, make_policy(order.spec, settings.policy))
        self.shared.gathers = True
        assert isinstance(self.shared.mailbox, Slots)
        self.slots = self.shared.mailbox
        if self.takes_rollouts:  # parcels that are too large wait for each other on the line
            size = sum(block[0].nbytes for block in self.slots.blocks.values())
            self.most = max(1, min(self.most, LARGEST // size))
        else:
            self.most = max(1, min(self.most, MOST_ROLLOUTS // settings.execution.accumulate))
        self.own_folder = None if order.folder else tempfile.TemporaryDirectory(prefix="hogwild-")
        folder = order.folder or Path(self.own_folder.name)  # type: ignore[union-attr]
        onlookers = order.onlookers.at(folder) if order.onlookers is not None else None
        crew = Crew(
            settings,
            self.shared,
            order.incarnation,
            list(order.carried),
            onlookers=onlookers,
            keeper=Keeper(settings, folder),
            ranks=order.ranks,
            roles=("worker",),
        )
        self.engine = ProcessEngine(crew)
        self.relay = Relay(folder / "live") if order.folder is None else None
        self.printed = Printed()
        self.step_told = 0  # of all machines, as we last knew it
        self.steps = self.broken = 0  # counts of this machine
        self.error: tuple[str, str] | None = None  # why nothing can be played here
        self.leaving: list[int] = []  # slots whose content is in the parcel that left last
        self.is_running = False

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """What workers take turns by, while there are any."""
        return self.engine.lock if self.is_running and self.engine.lock is not None else nullcontext()

    def trade(self, offer: Offer) -> Parcel:
        """Take new weights, and hand over what there is, within `PATIENCE`."""
        self._take(offer)
        reports: list[Report] = []
        try:
            if not self.is_running and self.error is None:
                self.engine.start()
                self.is_running = True
            reports = self._wait() if self.error is None else []
        except HogwildError as error:
            self.error = (str(error), error.details or traceback.format_exc())
        return self._pack(reports, offer.watched)

    def finish(self) -> Parcel:
        """Let workers end what they have begun, and hand over the last of it."""
        self._release()
        reports = self.engine.stop() if self.is_running else []
        self.is_running = False
        return self._pack(reports, (), is_last=True)

    def close(self) -> None:
        """End all workers at once."""
        self.is_running = False
        self.engine.kill()
        self.printed.close()
        if self.own_folder is not None:
            self.own_folder.cleanup()

    def _take(self, offer: Offer) -> None:
        self._release()
        counters = self.shared.counters
        with self.lock:
            if offer.weights is not None:
                np.copyto(self.shared.weights.numpy(), offer.weights)
            counters[STEPS] = offer.step + self.shared.counter(STEPS) - self.step_told
            self.step_told = offer.step
            counters[VERSION], counters[READY] = offer.version, offer.ready

    def _release(self) -> None:
        """What the last parcel held has left this process."""
        if self.leaving:
            with self.lock:
                self.slots.release(self.leaving)
            self.leaving = []

    def _wait(self) -> list[Report]:
        end = time.monotonic() + PATIENCE
        reports = self.engine.poll(0.0)
        while not self.slots.waiting() and time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
        return reports + self.engine.poll(0.0)

    def _pack(self, reports: list[Report], watched: tuple[int, ...], is_last: bool = False) -> Parcel:
        with self.lock:
            waiting = self.slots.waiting()
            taken = self.slots.take(waiting if is_last else min(waiting, self.most)) or []
            self.steps += self.shared.counter(STEPS) - self.step_told
            self.step_told = self.shared.counter(STEPS)
            inputs = self._take_inputs()
        goods = self._goods(taken)
        counts = Counts(self.steps, self.shared.counter(SKIPPED), self.shared.counter(DROPPED) + self.broken)
        parcel = Parcel(goods, counts, inputs, reports, error=self.error)
        parcel.statuses = [replace(status, machine=self.order.machine) for status in self.engine.statuses]
        parcel.carried = self.engine.carried()
        parcel.log = self.printed.read()
        if self.relay is not None:
            parcel.capsules = read_capsules(reports)
            parcel.moments = self.relay.look(watched)
        return parcel

    def _goods(self, taken: list[int]) -> list[Goods]:
        """What is in these slots, but for those that were only half written."""
        whole, now = [slot for slot in taken if self.slots.is_whole(slot)], time.monotonic()
        self.leaving = taken
        self.broken += len(taken) - len(whole)
        if self.takes_rollouts:
            return [pack_rollout(self.slots, slot, now) for slot in whole]
        groups = [whole[at : at + self.most] for at in range(0, len(whole), self.most)]
        return [pack_gradients(self.slots, group, self.is_sum, self.is_half, now) for group in groups]

    def _take_inputs(self) -> InputSums | None:
        """What has been added up of inputs; from here on it is the learner's."""
        count = int(self.shared.input_count)
        if not count:
            return None
        total, squares = self.shared.input_sums.numpy().copy()
        self.shared.input_sums.zero_()
        self.shared.input_count.zero_()
        return InputSums(count, total, squares, steps=0)
