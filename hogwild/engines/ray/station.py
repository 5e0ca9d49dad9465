"""The learner's side of one machine: a thread that asks its outpost for one parcel after the other.

Every machine is asked by a thread of its own, so that nobody waits for one that is lost. A parcel is only ever the
answer to the one question that is open, and no question is asked twice, so nothing can arrive or be applied twice.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from hogwild.engines.engine import WorkerStatus
from hogwild.engines.ray.forwarding import Screens
from hogwild.engines.ray.intake import Intake, Publisher
from hogwild.engines.ray.outpost import Order
from hogwild.engines.ray.parcel import Offer, Parcel

SILENCE = 3.0  # seconds after which a machine counts as lost, until it answers again
LOOK_SECONDS = 0.5  # between two looks at whether there is an answer
FINISH_SECONDS = 15.0  # that a machine has to end what its workers have begun


class Gone(Exception):
    """An outpost has ended, and says why, if it can."""


class Unfit(Gone):
    """An outpost cannot be on this machine, now or later."""


class Answer(Protocol):
    """What an outpost was asked for."""

    def wait(self, seconds: float) -> Any:
        """The answer, or None if there is none within this time; raises `Gone` if there will be none."""
        ...


class Remote(Protocol):
    """An outpost on another machine."""

    def introduce(self) -> Answer:
        """Ask for the versions of what it is made of; it may take long to come up."""
        ...

    def trade(self, offer: Offer) -> Answer:
        """Ask for a parcel."""
        ...

    def finish(self) -> Answer:
        """Ask for the last parcel."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...


@dataclass(frozen=True)
class Machine:
    """A machine of the cluster."""

    id: str  # a machine that comes back has another
    name: str
    cores: int  # that are free
    gpus: int = 0
    is_here: bool = False  # whether the coordinator runs on it, too


Tell = Callable[["Station", str, Any], None]  # what kind of news, and the news


class Station(threading.Thread):
    """Asks one outpost until it is gone or the run ends."""

    def __init__(self, machine: Machine, order: Order, send: Callable[[Machine, Order], Remote], tell: Tell) -> None:
        """`send` makes an outpost on the machine."""
        super().__init__(name=f"station {machine.name}", daemon=True)
        self.machine, self.order = machine, order
        self.send, self.tell = send, tell
        self.stopping = threading.Event()
        self.is_silent = False
        self.statuses = [WorkerStatus(rank, machine=machine.name) for rank in order.ranks]
        self.bytes_in = self.bytes_out = self.steps = 0

    def serve(
        self, intake: Intake, publisher: Publisher, screens: Screens | None, refuse: Callable[[Any], str]
    ) -> None:
        """Begin; `refuse` answers in words what is wrong with the versions of what an outpost is made of."""
        self.intake, self.publisher, self.screens, self.refuse = intake, publisher, screens, refuse
        self.start()

    def run(self) -> None:
        """Ask until the end."""
        remote: Remote | None = None
        try:
            remote = self.send(self.machine, self.order)
            if words := self.refuse(self._wait(remote.introduce())):
                raise Unfit(words)
            self._work(remote)
            self.tell(self, "done", "")
        except Unfit as why:
            self.tell(self, "unfit", str(why))
        except Gone as why:
            self.tell(self, "done" if self.stopping.is_set() else "gone", str(why))
        except Exception as error:  # a thread that ends in silence would be a machine that nobody misses
            self.tell(self, "unfit", repr(error))
        finally:
            if remote is not None:
                remote.kill()
            for status in self.statuses:
                status.state = "stopped" if self.stopping.is_set() else "dead"

    def _work(self, remote: Remote) -> None:
        """Ask for one parcel after the other; the next is filled while the last one is unpacked."""
        asked = self._ask(remote, known := self._offer(None))
        self.tell(self, "joined", "")
        is_last = False
        while not is_last:
            parcel = self._wait(asked)
            was_silent, self.is_silent, is_last = self.is_silent, False, self.stopping.is_set()
            asked = remote.finish() if is_last else self._ask(remote, known := self._offer(known))
            self._take(parcel, is_late=was_silent)
        if (parcel := asked.wait(FINISH_SECONDS)) is not None:
            self._take(parcel, is_late=False)

    def _ask(self, remote: Remote, offer: Offer) -> Answer:
        if offer.weights is not None:
            self.bytes_out += self.publisher.shared.weights.nbytes
        return remote.trade(offer)

    def _offer(self, known: Offer | None) -> Offer:
        watched = self.screens.wanted(self.order.ranks) if self.screens is not None else ()
        return self.publisher.offer(known, watched)

    def _wait(self, answer: Answer) -> Any:
        """An answer, however long it takes: whoever has it tells if the machine is gone."""
        began, is_introduced = time.monotonic(), any(status.pid for status in self.statuses)
        while (found := answer.wait(LOOK_SECONDS)) is None:
            if self.stopping.is_set() and (self.is_silent or not is_introduced):
                raise Gone("the run ended")
            if is_introduced and not self.is_silent and time.monotonic() - began > SILENCE:
                self.is_silent = True
                for status in self.statuses:
                    status.state = "silent"
                self.tell(self, "silent", "")
        return found

    def _take(self, parcel: Parcel, is_late: bool) -> None:
        if is_late:
            self.tell(self, "back", "")
        self.statuses = parcel.statuses or self.statuses
        self.bytes_in += parcel.bytes
        self.steps += parcel.steps
        self.intake.take(parcel, self.stopping.is_set, is_late)
        parcel.goods = []  # they may lie in memory that is needed
        self.tell(self, "parcel", parcel)
        if parcel.error is not None:
            raise Unfit(parcel.error[1])
