"""The engine `processes`: one process for each worker, one core for each process.

Processes are spawned, never forked: a fork copies locks and random states in the middle of whatever threads were
doing. Each has one pipe to the coordinator, so that a death is seen at once and can block nobody else.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from hogwild import errors
from hogwild.engines.crew import Carried, Crew
from hogwild.engines.worker_process import participant_main
from hogwild.errors import HogwildError, WorkerDied
from hogwild.exchanges.file_lock import FileLock
from hogwild.exchanges.shared import STOP
from hogwild.report import Report

WORKER_ENVIRONMENT = {
    # One core, one thread: more would fight for the cores.
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    # Every rollout needs the same large blocks of memory again; giving them back in between costs a page fault for
    # each 4 kB (a tenth of the time of learning). Only the GNU library reads these.
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "MALLOC_ARENA_MAX": "1",
}
CONTEXT = multiprocessing.get_context("spawn")
STOP_SECONDS = 30.0  # a worker that has not finished its rollout by then is ended


class ProcessEngine:
    """Runs each worker in a process of its own."""

    def __init__(self, crew: Crew) -> None:
        self.crew = crew
        self.statuses = crew.statuses()
        self.processes: list[multiprocessing.process.BaseProcess] = []
        self.pipes: list[Connection] = []
        self.lock: FileLock | None = None
        self._carried: list[Carried] = [crew.carried_of(rank) for rank in range(crew.workers)]

    def start(self) -> None:
        """Spawn all workers; they build their environments side by side."""
        self.crew.shared.share()
        self.lock = FileLock()
        with worker_environment(), signals_held_back():
            for status in self.statuses:
                ours, theirs = CONTEXT.Pipe()
                process = CONTEXT.Process(
                    target=participant_main,
                    args=(self.crew, status.rank, self.lock, theirs),
                    name=f"hogwild {status.role} {status.rank}",
                    daemon=True,
                )
                process.start()
                theirs.close()
                status.pid = process.pid or 0
                self.processes.append(process)
                self.pipes.append(ours)

    def poll(self, seconds: float) -> list[Report]:
        """Wait for news from the workers."""
        reports: list[Report] = []
        alive = [pipe for pipe, status in zip(self.pipes, self.statuses, strict=True) if status.state != "stopped"]
        if not alive:
            time.sleep(seconds)
        for pipe in wait(alive, timeout=seconds):
            reports += self._read(self.pipes.index(pipe))  # type: ignore[arg-type]
        return reports

    def _read(self, rank: int) -> list[Report]:
        reports: list[Report] = []
        status, pipe = self.statuses[rank], self.pipes[rank]
        try:
            while pipe.poll():
                kind, content = pipe.recv()
                if kind == "report":
                    status.steps += content.steps
                    reports.append(content)
                elif kind == "carried":
                    self._carried[rank] = content
                elif kind == "error":
                    raise _error_of(f"{status.role} {rank}", *content)
                else:
                    status.state = kind
        except (EOFError, OSError):
            self._explain_death(rank)
        return reports

    def _explain_death(self, rank: int) -> None:
        status, process = self.statuses[rank], self.processes[rank]
        process.join(timeout=5.0)
        if status.state == "stopped" or process.exitcode == 0:
            status.state = "stopped"
            return
        code = process.exitcode
        how = f"killed by signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        raise WorkerDied(f"{status.role.capitalize()} {rank} (pid {status.pid}) died: {how}.")

    def stop(self) -> list[Report]:
        """Ask the workers to finish their rollouts, and wait for them."""
        self.crew.shared.counters[STOP] = 1
        reports: list[Report] = []
        deadline = time.monotonic() + STOP_SECONDS
        while any(process.is_alive() for process in self.processes) and time.monotonic() < deadline:
            try:
                reports += self.poll(0.1)
            except HogwildError:
                break  # one is gone already; the others are ended below
        self.kill()
        return reports

    def kill(self) -> None:
        """End all workers at once."""
        for process in self.processes:
            if process.is_alive():
                process.kill()
        for process in self.processes:
            process.join(timeout=5.0)
        for pipe in self.pipes:
            pipe.close()
        for status in self.statuses:
            status.state = "stopped"
        self.processes, self.pipes = [], []
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


@contextmanager
def worker_environment() -> Iterator[None]:
    """Children started inside have the variables that workers want in their environment."""
    before = {name: os.environ.get(name) for name in WORKER_ENVIRONMENT}
    os.environ.update(WORKER_ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Children started inside are deaf to Ctrl-C and SIGTERM until they have said what to do about them."""
    held = (signal.SIGINT, signal.SIGTERM)
    resource_tracker.ensure_running()  # which would let the signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _error_of(who: str, kind: str, message: str, traceback: str) -> HogwildError:
    """What went wrong in another process, as the error it was if it is one of ours."""
    ours = getattr(errors, kind, None)
    if ours is not None:
        error: HogwildError = ours(f"{message} ({who}; the traceback is in the run's log.txt)")
    else:
        error = WorkerDied(f"{who.capitalize()} failed: {kind}: {message} (the traceback is in the run's log.txt)")
    return error.with_details(traceback)
