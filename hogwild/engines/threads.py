"""The engine `threads`: all workers in this process, a thread each; the weights never leave the device they are on.

It is made for few workers with many environments each: while one steps its games, another has the processor or the
graphics card for its forward pass. Emulators and numeric libraries work without holding Python's lock.
"""

import queue
import threading
import time
import traceback
from typing import Any

from hogwild.engines.crew import Carried, Crew
from hogwild.engines.participant import take_part
from hogwild.errors import EnvironmentFailed, HogwildError, WorkerDied
from hogwild.exchanges.shared import STOP
from hogwild.faults.pulse import Patience
from hogwild.report import Report

STOP_SECONDS = 8.0  # a thread that has not finished its rollout by then is left behind


class ThreadEngine:
    """Runs each worker in a thread of its own."""

    def __init__(self, crew: Crew) -> None:
        self.crew = crew
        self.statuses = crew.statuses()
        self.lock = threading.Lock()
        self.news: queue.SimpleQueue[tuple[int, str, Any]] = queue.SimpleQueue()
        self.threads: list[threading.Thread] = []
        self._carried: list[Carried] = [crew.carried_of(rank) for rank in range(crew.workers)]
        self.patience = Patience(time.monotonic())

    def start(self) -> None:
        """Start all threads; they build their environments by themselves."""
        for status in self.statuses:
            thread = threading.Thread(target=self._run, args=(status.rank,), name=f"{status}", daemon=True)
            self.threads.append(thread)
            thread.start()

    def _run(self, rank: int) -> None:
        try:
            take_part(self.crew, rank, self.lock, lambda kind, content: self.news.put((rank, kind, content)))
        except HogwildError as error:
            self.news.put((rank, "error", error.with_details(traceback.format_exc())))
        except BaseException as error:
            who = f"{self.statuses[rank].role.capitalize()} {rank}"
            message = f"{who} failed: {error!r} (the traceback is in the run's log.txt)"
            self.news.put((rank, "error", WorkerDied(message).with_details(traceback.format_exc())))

    def poll(self, seconds: float) -> list[Report]:
        """Wait for news from the workers."""
        reports: list[Report] = []
        deadline = time.monotonic() + seconds
        while not self.news.empty() or (not reports and time.monotonic() < deadline):
            try:
                rank, kind, content = self.news.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                break
            if kind == "report":
                self.statuses[rank].steps += content.steps
                reports.append(content)
            elif kind == "carried":
                self._carried[rank] = content
            elif kind == "error":
                raise content
            else:
                self.statuses[rank].state = kind
        self._refuse_hanging()
        return reports

    def _refuse_hanging(self) -> None:
        """End the run if somebody hangs: nothing can end a thread by itself."""
        if self.crew.shared.counters[STOP]:
            return  # who hangs is left behind, and the run ends in order
        now, pulse = time.monotonic(), self.crew.pulse
        late = [status for status in self.statuses if pulse.is_late(status.rank, now)]
        if self.patience.is_over(now) and late:
            words = f"Worker {late[0].rank} hangs: {pulse.words(late[0].state)}"
            raise EnvironmentFailed(f"{words}. A thread cannot be replaced: --engine processes does that.")

    def stop(self) -> list[Report]:
        """Ask the workers to finish their rollouts, and wait for them."""
        self.crew.shared.counters[STOP] = 1
        reports: list[Report] = []
        deadline = time.monotonic() + STOP_SECONDS
        while any(thread.is_alive() for thread in self.threads) and time.monotonic() < deadline:
            try:
                reports += self.poll(0.1)
            except HogwildError:
                continue
        reports += self.poll(0.0)
        self.kill()
        return reports

    def kill(self) -> None:
        """Threads cannot be killed: they are asked to end after their rollout, and left to it."""
        self.crew.shared.counters[STOP] = 1
        end = time.monotonic() + 1.0
        for thread in self.threads:
            thread.join(timeout=max(0.0, end - time.monotonic()))
        for status in self.statuses:
            status.state = "stopped"
        self.threads = []

    def save(self) -> None:
        """Workers that run by themselves cannot be saved in mid-game."""
        return

    def load(self, saved: dict[str, Any]) -> None:
        """Nothing to load: games start anew."""

    def carried(self) -> list[Carried]:
        """What the preprocessing of each worker has learned, as it last said."""
        return self._carried
