"""The engine `inline`: all workers in this process, in an order that only the seed decides.

Asynchrony is real but repeatable: in every round each worker goes once through its loop, and whose turn it is to go on
is drawn by chance, so that some push gradients of weights that others have changed in the meantime. Between rounds
nothing is under way; that is where checkpoints are taken, and why a resumed run is bit for bit the run that was never
stopped.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from hogwild.engines.crew import Carried, Crew
from hogwild.exchanges.make import Server
from hogwild.link import Link
from hogwild.report import Report
from hogwild.threads import one_torch_thread
from hogwild.turns import Turn
from hogwild.worker import Worker, run_worker


class InlineEngine:
    """Runs workers one after the other in a seeded order."""

    def __init__(self, crew: Crew) -> None:
        self.crew = crew
        self.statuses = crew.statuses()
        self.random = np.random.default_rng(np.random.SeedSequence((crew.settings.execution.seed, 0x5EED)))
        self.workers: list[Worker] = []
        self.links: list[Link] = []
        self.servers: list[Server] = []
        self.loops: list[Iterator[Turn]] = []  # of the workers
        self.serving: list[Iterator[Turn]] = []
        self.reports: list[Report] = []
        self._carried = [crew.carried_of(rank) for rank in range(crew.workers)]
        self.under_way = False
        crew.pulse.interrupts = True

    def start(self) -> None:
        """Build everybody."""
        with one_torch_thread():
            for rank in range(self.crew.workers):
                self.workers.append(self.crew.worker(rank))
                self.links.append(self.crew.link(rank))
            self.servers = self.crew.servers()
        for worker, link in zip(self.workers, self.links, strict=True):
            loop = run_worker(worker, link, self.reports.append)
            next(loop)  # to where it is idle
            self.loops.append(loop)
        self.serving = [server.run(self.reports.append, lambda: False) for server in self.servers]
        for loop in self.serving:
            next(loop)  # to where it looks for something to do, as between two rounds
        for status in self.statuses:
            status.state = "playing" if status.role == "worker" else "serving"

    def poll(self, seconds: float) -> list[Report]:  # noqa: ARG002
        """Play one round."""
        if not self.crew.played_enough():
            self.under_way = True
            with one_torch_thread():
                self._round()
            self.under_way = False
        reports, self.reports[:] = list(self.reports), []
        for report in reports:
            self.statuses[min(report.worker, len(self.statuses) - 1)].steps += report.steps
        return reports

    def _round(self) -> None:
        """Every worker plays and hands over one rollout; chance decides who moves next."""
        busy = list(self.loops)
        while busy:
            everybody = busy + self.serving
            loop = everybody[self.random.integers(len(everybody))]
            if next(loop) is Turn.IDLE:
                busy.remove(loop)
        for loop in self.serving:  # until there is nothing left for them to do
            while next(loop) is not Turn.WAITING:
                pass

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
        self.workers, self.loops, self.serving = [], [], []

    def save(self) -> dict[str, Any] | None:
        """State of everybody and of the order in which they take turns; None if an environment cannot be saved."""
        if self.under_way or len(self.workers) < self.crew.workers:  # something failed in the middle
            return None
        states = [worker.save() for worker in self.workers]
        if any(state is None for state in states):
            return None
        mailbox = self.crew.shared.mailbox
        return {
            "workers": states,
            "links": [link.save() for link in self.links],
            "servers": [server.save() for server in self.servers],
            "mailbox": {name: tensor.numpy().copy() for name, tensor in mailbox.tensors().items()} if mailbox else {},
            "order": dict(self.random.bit_generator.state),
        }

    def load(self, saved: dict[str, Any]) -> None:
        """Go on exactly from a saved moment."""
        for kind in ("workers", "links", "servers"):
            for member, state in zip(getattr(self, kind), saved[kind], strict=True):
                member.load(state)
        mailbox = self.crew.shared.mailbox
        if mailbox is not None:
            for name, tensor in mailbox.tensors().items():
                tensor.copy_(torch.from_numpy(saved["mailbox"][name]))
        self.random.bit_generator.state = saved["order"]

    def carried(self) -> list[Carried]:
        """What the preprocessing of each worker has learned."""
        return [worker.batch.carried() for worker in self.workers] or self._carried
