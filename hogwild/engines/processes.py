"""The engine `processes`: one process for each worker, one core for each process.

Processes are spawned, never forked: a fork copies locks and random states in the middle of whatever threads were
doing. Each has one pipe to the coordinator, so that a death is seen at once and can block nobody else.
"""

import time
from multiprocessing.process import BaseProcess
from typing import Any

from hogwild.engines.crew import Carried, Crew
from hogwild.engines.member import Member
from hogwild.engines.spawning import require_files
from hogwild.engines.supervisor import Supervisor
from hogwild.errors import HogwildError
from hogwild.exchanges.file_lock import FileLock
from hogwild.exchanges.shared import STOP
from hogwild.report import Report

STOP_SECONDS = 6.0  # a worker that has not finished its rollout by then is ended


class ProcessEngine:
    """Runs each worker in a process of its own, and replaces those that die."""

    def __init__(self, crew: Crew) -> None:
        self.crew = crew
        self.statuses = crew.statuses()
        self.members: list[Member] = []
        self.lock: FileLock | None = None
        self._carried: list[Carried] = [crew.carried_of(rank) for rank in range(crew.workers)]

    def start(self) -> None:
        """Spawn all workers; they build their environments side by side."""
        require_files(len(self.statuses))
        self.crew.shared.share()
        self.crew.pulse.share()
        self.lock = FileLock()
        self.members = [Member(self.crew, number, s, self.lock) for number, s in enumerate(self.statuses)]
        self.supervisor = Supervisor(self.crew, self.members, self.lock)
        for member in self.members:
            member.start()

    @property
    def processes(self) -> list[BaseProcess]:
        """Those that run."""
        return [member.process for member in self.members if member.process is not None and member.pipe is not None]

    def poll(self, seconds: float) -> list[Report]:
        """Wait for news from the workers."""
        reports: list[Report] = []
        for member in self.supervisor.listen(seconds):
            reports += self._hear(member)
        return reports + self.supervisor.look_after()

    def _hear(self, member: Member) -> list[Report]:
        reports: list[Report] = []
        status = member.status
        for kind, content in member.hear():
            if kind == "report":
                status.steps += content.steps
                reports.append(content)
            elif kind == "carried":
                self._carried[member.place] = content
            elif kind == "error":
                member.blame(*content)
            elif kind == "ended":
                reports += self.supervisor.mourn(member)
            else:
                status.state = kind
        return reports

    def stop(self) -> list[Report]:
        """Ask the workers to finish their rollouts, and wait for them."""
        self.crew.shared.counters[STOP] = 1
        self.supervisor.is_stopping = True
        reports: list[Report] = []
        deadline = time.monotonic() + STOP_SECONDS
        while self.processes and time.monotonic() < deadline:  # until all are heard to the end, and not only dead
            try:
                reports += self.poll(0.1)
            except HogwildError:
                continue  # one is gone already; the others finish what they have begun
        self.kill()
        return reports

    def kill(self) -> None:
        """End all workers at once."""
        for member in self.members:
            member.kill()
        for member in self.members:
            if member.pipe is not None:
                member.bury()
            member.status.state = "stopped"
        self.members = []
        if self.lock is not None:
            self.lock.close()

    def save(self) -> None:
        """Workers that run by themselves cannot be saved in mid-game."""
        return

    def load(self, saved: dict[str, Any]) -> None:
        """Nothing to load: games start anew."""

    def carried(self) -> list[Carried]:
        """What the preprocessing of each worker has learned, as it last said."""
        return self._carried
