"""The engine `inline`: all workers in this process, in an order that only the seed decides.

Asynchrony is real but repeatable: in every round each worker plays once and pushes once, and the order of these is
drawn anew, so that some push gradients of weights that others have changed in the meantime. Between rounds nothing
is under way; that is where checkpoints are taken, and why a resumed run is bit for bit the run that was never stopped.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from hogwild.config.settings import Settings
from hogwild.engines.engine import WorkerStatus
from hogwild.exchanges import make_link
from hogwild.exchanges.weights import STEPS, SharedWeights
from hogwild.report import Report
from hogwild.threads import one_torch_thread
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
        self.under_way = False

    def start(self) -> None:
        """Build all workers."""
        for status in self.statuses:
            carried = self._carried[status.rank % len(self._carried)] if self._carried else []
            worker = Worker(self.settings, status.rank, self.incarnation, carried)
            link = make_link(self.settings, self.shared, status.rank)
            self.workers.append(worker)
            self.loops.append(run_worker(worker, link, self.reports.append, lambda: False))
            status.state = "playing"

    def poll(self, seconds: float) -> list[Report]:  # noqa: ARG002
        """Play one round."""
        limit = self.settings.run.steps
        if not limit or self.shared.counter(STEPS) < limit:
            self.under_way = True
            with one_torch_thread():
                for rank in self._order():
                    next(self.loops[rank])
            self.under_way = False
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
        return []

    def kill(self) -> None:
        """Nothing runs by itself here; only the environments have to be closed."""
        self._carried = self.carried()
        for worker in self.workers:
            worker.batch.close()
        self.workers, self.loops = [], []

    def save(self) -> dict[str, Any] | None:
        """State of every worker and of the order in which they take turns; None if an environment cannot be saved."""
        if self.under_way or len(self.workers) < len(self.statuses):  # something failed in the middle
            return None
        states = [worker.save() for worker in self.workers]
        if any(state is None for state in states):
            return None
        return {"workers": states, "order": dict(self.random.bit_generator.state)}

    def load(self, saved: dict[str, Any]) -> None:
        """Go on exactly from a saved moment."""
        for worker, state in zip(self.workers, saved["workers"], strict=True):
            worker.load(state)
        self.random.bit_generator.state = saved["order"]

    def carried(self) -> list[list[dict[str, float]]]:
        """What the preprocessing of each worker has learned."""
        return [worker.batch.carried() for worker in self.workers] or self._carried
