"""Who takes part in a run, and what each of them is made of; the same for every engine."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from hogwild.config.settings import Settings
from hogwild.engines.engine import WorkerStatus
from hogwild.exchanges.make import SERVERS, Server, make_link, make_servers
from hogwild.exchanges.shared import STEPS, STOP, SharedWeights
from hogwild.exchanges.tape import Lock, Tape
from hogwild.faults.keeper import Keeper
from hogwild.faults.pulse import Pulse
from hogwild.link import Link
from hogwild.worker import Worker

Carried = list[dict[str, float]]


class Onlookers(Protocol):
    """Whoever looks on while a run trains."""

    def join(self, participant: Worker | Server) -> None:
        """Look on at one of those who take part, before it begins."""
        ...

    def at(self, folder: Path) -> "Onlookers":
        """The same on a machine that cannot reach the run's folder, with another one."""
        ...


@dataclass
class Crew:
    """The workers of a run and those who serve them; travels to a spawned process as an argument."""

    settings: Settings
    shared: SharedWeights
    incarnation: int = 0
    carried: list[Carried] = field(default_factory=list)  # what each worker's preprocessing has learned
    tape: Path | None = None  # folder in which the order of events is written down
    onlookers: Onlookers | None = None
    keeper: Keeper | None = None  # of what led to faults, if the run has a folder
    ranks: tuple[int, ...] = ()  # of these workers among all of a run that has some elsewhere, too
    roles: tuple[str, ...] = ("worker", "server")  # who of them is here

    def __post_init__(self) -> None:
        self.pulse = Pulse(self.workers + 1, self.settings.execution.env_timeout)

    @property
    def workers(self) -> int:
        """How many workers there are."""
        return self.settings.execution.workers

    def statuses(self) -> list[WorkerStatus]:
        """Everybody, the workers first."""
        role = SERVERS[self.settings.execution.exchange]
        servers = [WorkerStatus(self.workers, role=role)] if role and "server" in self.roles else []
        return [WorkerStatus(self.rank_of(p)) for p in range(self.workers) if "worker" in self.roles] + servers

    def rank_of(self, place: int) -> int:
        """Which of all workers of the run the one in a place of this crew is."""
        return self.ranks[place] if place < len(self.ranks) else place

    def worker(self, place: int, restart: int = 0) -> Worker:
        """One worker with its environments, or the one that replaces it for the `restart`th time."""
        heart, rank = self.pulse.of(place), self.rank_of(place)
        with heart.building():
            recorded = partial(self.keeper.recorded, rank) if self.keeper is not None else None
            worker = Worker(self.settings, rank, self.incarnation, self.carried_of(place), restart, recorded)
        worker.actor.heart = heart
        if self.onlookers is not None:
            self.onlookers.join(worker)
        return worker

    def carried_of(self, place: int) -> Carried:
        """What the preprocessing of one worker has learned before."""
        return self.carried[place % len(self.carried)] if self.carried else []

    def lock(self, rank: int, inner: AbstractContextManager[Any] | None = None) -> Lock:
        """The handle of one participant to the lock that all share."""
        return Lock(inner, Tape(self.tape / f"{rank}.jsonl", rank, self.shared) if self.tape else None)

    def link(self, place: int, inner: AbstractContextManager[Any] | None = None) -> Link:
        """The link of one worker."""
        return make_link(self.settings, self.shared, place, self.lock(place, inner))

    def servers(self, inner: AbstractContextManager[Any] | None = None) -> list[Server]:
        """Those who serve all workers."""
        servers = make_servers(self.settings, self.shared, lambda rank: self.lock(rank, inner))
        if self.onlookers is not None:
            for server in servers:
                self.onlookers.join(server)
        return servers

    def told_to_stop(self) -> bool:
        """Whether the coordinator has ended the run."""
        return bool(self.shared.counter(STOP))

    def played_enough(self) -> bool:
        """Whether workers have nothing more to do."""
        return self.told_to_stop() or 0 < self.settings.run.steps <= self.shared.counter(STEPS)
