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
from hogwild.engines.ray.parcel import Counts, Offer, Parcel
from hogwild.engines.ray.travelling import differences, versions_here
from hogwild.exchanges.shared import VERSION

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

    def ask(self, method: str, *arguments: Any) -> Answer:
        """Ask it to do something and to answer."""
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

    def versions(self, machine: Machine) -> Answer | None:
        """Ask which versions a machine has of what we need; None if they are ours."""
        ...

    def send(self, machine: Machine, order: Order, there: dict[str, str]) -> Remote:
        """Make an outpost there, where there are these versions; it may take long to come up."""
        ...


class Station(threading.Thread):
    """Asks one outpost until it is gone or the run ends."""

    def __init__(self, machine: Machine, order: Order, sender: Sender, tell: Tell) -> None:
        super().__init__(name=f"station {machine.name}", daemon=True)
        self.machine, self.order = machine, order
        self.sender, self.tell = sender, tell
        self.stopping = threading.Event()
        self.leaving = threading.Event()  # at once, without asking for the last parcel
        self.is_silent = self.has_joined = False
        self.patience = SILENCE
        self.oldest = 0  # version that is still learned from
        self.statuses = [WorkerStatus(rank, machine=machine.name) for rank in order.ranks]
        self.bytes_in = self.bytes_out = 0
        self.counts = Counts()  # that the machine has told

    def serve(self, intake: Intake, publisher: Publisher, screens: Screens | None) -> None:
        """Begin."""
        self.intake, self.publisher, self.screens = intake, publisher, screens
        self.start()

    def run(self) -> None:
        """Ask until the end."""
        remote: Remote | None = None
        try:
            there = self._versions()
            remote = self.sender.send(self.machine, self.order, there)
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

    def _versions(self) -> dict[str, str]:
        """Versions of what is needed on that machine, if they go with ours; what it lacks is installed for it."""
        here, asked = versions_here(), self.sender.versions(self.machine)
        there: dict[str, str] = here if asked is None else self._wait(asked)
        if words := differences(there, here):
            raise Unfit(words)
        return there

    def _work(self, remote: Remote) -> None:
        """Ask for one parcel after the other; the next is filled while the last one is unpacked."""
        asked = self._ask(remote, None)
        is_last = False
        while not is_last:
            began = time.monotonic()
            try:
                parcel = self._wait(asked)
            except Unanswered:
                if self.stopping.is_set():
                    raise
                self._miss()
                time.sleep(LOOK_SECONDS)
                asked = self._ask(remote, None)  # the last weights may be lost, too
                continue
            if self.known.weights is not None:
                self.bytes_out += self.publisher.shared.weights.nbytes
            if not self.has_joined or self.is_silent:
                self.tell(self, "back" if self.has_joined else "joined", "")
                self.has_joined, self.is_silent = True, False
            self.patience = max(SILENCE, SLOWER * (time.monotonic() - began))
            is_last = self.stopping.is_set()
            asked = remote.ask("finish") if is_last else self._ask(remote, self.known)
            self._take(parcel)
        if (parcel := asked.wait(FINISH_SECONDS)) is not None:
            self._take(parcel)

    def _ask(self, remote: Remote, known: Offer | None) -> Answer:
        """Ask for a parcel, with what is new since an offer that it knows of."""
        watched = self.screens.wanted(self.order.ranks) if self.screens is not None else ()
        self.known = self.publisher.offer(known, watched)
        return remote.ask("trade", self.known)

    def _wait(self, answer: Answer) -> Any:
        """An answer, however long it takes: whoever has it tells if the machine is gone."""
        began, is_told = time.monotonic(), False
        while (found := answer.wait(LOOK_SECONDS)) is None:
            waited = time.monotonic() - began
            if self.leaving.is_set() or (self.stopping.is_set() and (self.is_silent or not self.has_joined)):
                raise Gone("the run ended")
            if not self.has_joined and not is_told and waited > SLOW_START:
                is_told = True
                self.tell(self, "slow", "")
            if self.has_joined and waited > self.patience:
                self._miss()
        return found

    def _miss(self) -> None:
        """Say once that there is no answer."""
        if not self.is_silent:
            self.is_silent, self.oldest = True, self.known.version + 1
            for status in self.statuses:
                status.state = "silent"
            self.tell(self, "silent", "")

    def _take(self, parcel: Parcel) -> None:
        self.statuses = parcel.statuses or self.statuses
        self.bytes_in += parcel.bytes
        new, self.counts = parcel.counts - self.counts, parcel.counts
        # Where nobody has learned meanwhile, even the weights from before a silence are the newest.
        oldest = min(self.oldest, self.publisher.shared.counter(VERSION))
        self.intake.take(parcel, new, self.leaving.is_set, oldest)
        parcel.goods = []  # they may lie in memory that is needed
        self.tell(self, "parcel", parcel)
        if parcel.error is not None:
            raise Unfit(*parcel.error)
