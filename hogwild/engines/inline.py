"""The engine `inline`: all workers in this process, in an order that only the seed decides.

Asynchrony is real but repeatable: in every round each worker plays once and pushes once, and the order of these is
drawn anew, so that some push gradients of weights that others have changed in the meantime. Between rounds nothing
is under way; that is where checkpoints are taken, and why a resumed run is bit for bit the run that was never stopped.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from hogwild.config.settings import Settings
from hogwild.engines.engine import WorkerStatus
from hogwild.exchanges.weights import STEPS, SharedWeights, WeightsLink
from hogwild.report import Report
from hogwild.worker import Worker, run_worker


class InlineEngine:
    """Runs workers one after the other in a seeded order."""

    def __init__(
        self,
        settings: Settings,
        shared: SharedWeights,
        workers: int,
        incarnation: int = 0,
        carried: list[list[dict[str, float]]] | None = None,
    ) -> None:
        self.settings = settings
        self.shared = shared
        self.incarnation = incarnation
        self.statuses = [WorkerStatus(rank) for rank in range(workers)]
        self.random = np.random.default_rng(np.random.SeedSequence((settings.execution.seed, 0x5EED)))
        self.workers: list[Worker] = []
        self.loops: list[Iterator[None]] = []
        self.reports: list[Report] = []
        self._carried = carried or []

    def start(self) -> None:
        """Build all workers."""
        for status in self.statuses:
            worker = Worker(self.settings, status.rank, self.incarnation)
            if self._carried:
                worker.batch.load_carried(self._carried[status.rank % len(self._carried)])
            link = WeightsLink(self.shared, self.settings, status.rank)
            self.workers.append(worker)
            self.loops.append(run_worker(worker, link, self.reports.append, lambda: False))
            status.state = "playing"

    def poll(self, seconds: float) -> list[Report]:  # noqa: ARG002
        """Play one round."""
        limit = self.settings.run.steps
        if not limit or self.shared.counter(STEPS) < limit:
            with one_torch_thread():
                for rank in self._order():
                    next(self.loops[rank])
        reports, self.reports[:] = list(self.reports), []
        for report in reports:
            self.statuses[report.worker].steps += report.steps
        return reports

    def _order(self) -> list[int]:
        """Every worker twice: the first time it plays, the second time it pushes."""
        return [int(rank) for rank in self.random.permutation(np.repeat(np.arange(len(self.workers)), 2))]

    def stop(self) -> list[Report]:
        """Nothing is under way between rounds."""
        for status in self.statuses:
            status.state = "stopped"
        for worker in self.workers:
            worker.batch.close()
        return []

    def kill(self) -> None:
        """Nothing runs by itself here."""

    def worker_states(self) -> list[dict[str, Any] | None]:
        """State of every worker, and of the order in which they take turns."""
        if len(self.workers) < len(self.statuses):  # not all could be built
            return [None for _ in self.statuses]
        return [worker.save() for worker in self.workers]

    def load_worker_states(self, states: list[dict[str, Any] | None], schedule: dict[str, Any]) -> None:
        """Go on exactly from saved states."""
        for worker, state in zip(self.workers, states, strict=True):
            if state is not None:
                worker.load(state)
        self.random.bit_generator.state = schedule

    def schedule_state(self) -> dict[str, Any]:
        """State of the generator that draws the order of turns."""
        return dict(self.random.bit_generator.state)

    def carried(self) -> list[list[dict[str, float]]]:
        """What the preprocessing of each worker has learned."""
        return [worker.batch.carried() for worker in self.workers]


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Sums come out the same only if they are added up in the same order: with one thread, everywhere."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
