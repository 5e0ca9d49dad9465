"""The learner's side of one machine: a thread that asks its outpost for one parcel after the other.

Every machine is asked by a thread of its own, so that nobody waits for one that is lost. A parcel is only ever the
answer to the one question that is open, and no question is asked twice, so nothing can arrive or be applied twice: of
one that is lost on the way, another is asked, and what its answer would have held is never learned from.
"""

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from hogwild.engines.engine import WorkerStatus
from hogwild.engines.ray.forwarding import Screens
from hogwild.engines.ray.intake import Intake, Publisher
from hogwild.engines.ray.outpost import Order
from hogwild.engines.ray.parcel import Offer, Parcel

SILENCE = 3.0  # seconds after which a machine counts as lost, until it answers again
SLOWER = 3.0  # times as long as the answer before may take: large parcels need their time on a slow line
SLOW_START = 30.0  # seconds after which it is said that a machine has not begun yet
LOOK_SECONDS = 0.5  # between two looks at whether there is an answer
FINISH_SECONDS = 15.0  # that a machine has to end what its workers have begun


class Gone(Exception):
    """An outpost has ended, and says why, if it can."""

    def __init__(self, words: str, details: str = "") -> None:
        super().__init__(words)
        self.details = details  # for the log


class Unanswered(Gone):
    """A question or its answer was lost on the way; whoever was asked may still be there."""


class Unfit(Gone):
    """An outpost cannot be on this machine, now or later."""


class Answer(Protocol):
    """What an outpost was asked for."""

    def wait(self, seconds: float) -> Any:
        """The answer, or None if there is none within this time; raises `Unanswered` if it was lost, and `Gone` if
        whoever was asked is."""
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
    cores: int
    free: int  # of them
    gpus: int = 0
    is_here: bool = False  # whether the coordinator runs on it, too


Tell = Callable[["Station", str, Any], None]  # what kind of news, and the news


class Sender(Protocol):
    """Somebody who can make outposts."""

    def missing(self, machine: Machine) -> Answer:
        """Ask which packages a machine lacks."""
        ...

    def send(self, machine: Machine, order: Order, missing: list[str]) -> Remote:
        """Make an outpost there, with these packages."""
        ...


class Station(threading.Thread):
    """Asks one outpost until it is gone or the run ends."""

    def __init__(self, machine: Machine, order: Order, sender: Sender, tell: Tell) -> None:
        super().__init__(name=f"station {machine.name}", daemon=True)
        self.machine, self.order = machine, order
        self.sender, self.tell = sender, tell
        self.stopping = threading.Event()
        self.leaving = threading.Event()  # at once, without asking for the last parcel
        self.is_silent = self.is_introduced = False
        self.patience = SILENCE
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
            missing = [] if self.machine.is_here else self._wait(self.sender.missing(self.machine))
            remote = self.sender.send(self.machine, self.order, missing)
            if words := self.refuse(self._wait(remote.introduce())):
                raise Unfit(words)
            self._work(remote)
            kind, why = "done", Gone("")
        except Unfit as error:
            kind, why = "unfit", error
        except Gone as error:
            kind, why = "gone", error
        except Exception as error:  # a thread that ends in silence would be a machine that nobody misses
            kind, why = "gone", Gone(repr(error), traceback.format_exc())
        if remote is not None:
            remote.kill()
        for status in self.statuses:
            status.state = "stopped" if self.stopping.is_set() else "dead"
        self.tell(self, "done" if self.stopping.is_set() else kind, why)

    def _work(self, remote: Remote) -> None:
        """Ask for one parcel after the other; the next is filled while the last one is unpacked."""
        asked = remote.trade(known := self._offer(None))
        self.is_introduced = True
        self.tell(self, "joined", "")
        is_last, oldest = False, 0  # oldest version that is still learned from
        while not is_last:
            began = time.monotonic()
            try:
                parcel = self._wait(asked)
            except Unanswered:
                self._miss()
                time.sleep(LOOK_SECONDS)
                asked = remote.trade(known := self._offer(None))  # the last weights may be lost, too
                continue
            if known.weights is not None:
                self.bytes_out += self.publisher.shared.weights.nbytes
            if self.is_silent:
                self.tell(self, "back", "")
                oldest, self.is_silent = known.version + 1, False
            self.patience = max(SILENCE, SLOWER * (time.monotonic() - began))
            is_last = self.stopping.is_set()
            asked = remote.finish() if is_last else remote.trade(known := self._offer(known))
            self._take(parcel, oldest)
        if (parcel := asked.wait(FINISH_SECONDS)) is not None:
            self._take(parcel, oldest)

    def _offer(self, known: Offer | None) -> Offer:
        watched = self.screens.wanted(self.order.ranks) if self.screens is not None else ()
        return self.publisher.offer(known, watched)

    def _wait(self, answer: Answer) -> Any:
        """An answer, however long it takes: whoever has it tells if the machine is gone."""
        began, is_told = time.monotonic(), False
        while (found := answer.wait(LOOK_SECONDS)) is None:
            waited = time.monotonic() - began
            if self.leaving.is_set() or (self.stopping.is_set() and (self.is_silent or not self.is_introduced)):
                raise Gone("the run ended")
            if not self.is_introduced and not is_told and waited > SLOW_START:
                is_told = True
                self.tell(self, "slow", "")
            if self.is_introduced and waited > self.patience:
                self._miss()
        return found

    def _miss(self) -> None:
        """Say once that there is no answer."""
        if not self.is_silent:
            self.is_silent = True
            for status in self.statuses:
                status.state = "silent"
            self.tell(self, "silent", "")

    def _take(self, parcel: Parcel, oldest: int) -> None:
        self.statuses = parcel.statuses or self.statuses
        self.bytes_in += parcel.bytes
        self.steps += parcel.steps
        self.intake.take(parcel, self.leaving.is_set, oldest)
        parcel.goods = []  # they may lie in memory that is needed
        self.tell(self, "parcel", parcel)
        if parcel.error is not None:
            raise Unfit(*parcel.error[1:])
