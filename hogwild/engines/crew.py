"""Who takes part in a run, and what each of them is made of; the same for every engine."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hogwild.config.settings import Settings
from hogwild.engines.engine import WorkerStatus
from hogwild.exchanges.make import SERVERS, Server, make_link, make_servers
from hogwild.exchanges.shared import STEPS, STOP, SharedWeights
from hogwild.exchanges.tape import Lock, Tape
from hogwild.exchanges.trajectories import TrajectoryLearner
from hogwild.inputs import InputRecorder
from hogwild.link import Link
from hogwild.live.mailbox import Outbox
from hogwild.worker import Worker

Carried = list[dict[str, float]]


@dataclass
class Crew:
    """The workers of a run and those who serve them; travels to a spawned process as an argument."""

    settings: Settings
    shared: SharedWeights
    incarnation: int = 0
    carried: list[Carried] = field(default_factory=list)  # what each worker's preprocessing has learned
    tape: Path | None = None  # folder in which the order of events is written down
    folder: Path | None = None  # of the run: workers show their games in it to whoever looks on, and keep inputs

    @property
    def workers(self) -> int:
        """How many workers there are."""
        return self.settings.execution.workers

    def statuses(self) -> list[WorkerStatus]:
        """Everybody, the workers first."""
        role = SERVERS[self.settings.execution.exchange]
        servers = [WorkerStatus(self.workers, role=role)] if role else []
        return [WorkerStatus(rank) for rank in range(self.workers)] + servers

    def worker(self, rank: int) -> Worker:
        """One worker with its environments."""
        worker = Worker(self.settings, rank, self.incarnation, self.carried_of(rank))
        if self.folder is not None:
            spec = worker.batch.spec
            shape, dtype = spec.observation_shape, spec.observation_dtype
            worker.actor.onlooker = Outbox(self.folder / "live", rank, shape, dtype, spec.num_actions)
        worker.gradients.recorder = self.recorder(rank)
        return worker

    def recorder(self, rank: int) -> InputRecorder | None:
        """What keeps the inputs of one who learns, if that was asked for."""
        updates = self.settings.run.record_inputs
        return InputRecorder(self.folder / "inputs", rank, updates) if self.folder and updates else None

    def carried_of(self, rank: int) -> Carried:
        """What the preprocessing of one worker has learned before."""
        return self.carried[rank % len(self.carried)] if self.carried else []

    def lock(self, rank: int, inner: AbstractContextManager[Any] | None = None) -> Lock:
        """The handle of one participant to the lock that all share."""
        tape = Tape(self.tape / f"{rank}.jsonl", rank, self.shared) if self.tape else None
        return Lock(inner, tape)

    def link(self, rank: int, inner: AbstractContextManager[Any] | None = None) -> Link:
        """The link of one worker."""
        return make_link(self.settings, self.shared, rank, self.lock(rank, inner))

    def servers(self, inner: AbstractContextManager[Any] | None = None) -> list[Server]:
        """Those who serve all workers."""
        servers = make_servers(self.settings, self.shared, lambda rank: self.lock(rank, inner))
        for server in servers:
            if isinstance(server, TrajectoryLearner):
                server.usual.recorder = self.recorder(server.rank)
        return servers

    def told_to_stop(self) -> bool:
        """Whether the coordinator has ended the run."""
        return bool(self.shared.counter(STOP))

    def played_enough(self) -> bool:
        """Whether workers have nothing more to do."""
        limit = self.settings.run.steps
        return self.told_to_stop() or bool(limit and self.shared.counter(STEPS) >= limit)
