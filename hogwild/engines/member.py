"""One participant of a run in a process of its own, which is replaced when it dies."""

import itertools
import multiprocessing
import os
import signal
import time
from multiprocessing.connection import Connection
from typing import Any

import psutil

from hogwild import errors
from hogwild.engines.crew import Crew
from hogwild.engines.engine import WorkerStatus
from hogwild.engines.output import Output
from hogwild.engines.spawning import (
    READ_AGAIN,
    end_families,
    family,
    only_a_script_that_is_there,
    signals_held_back,
    worker_environment,
)
from hogwild.engines.worker_process import participant_main
from hogwild.errors import EnvironmentFailed, HogwildError, NothingButFaults, UsageError, WorkerDied, exit_words
from hogwild.exchanges.file_lock import FileLock
from hogwild.machine import available_memory

CONTEXT = multiprocessing.get_context("spawn")
WINDOW = 60.0  # seconds in which deaths are counted
LONGEST_PAUSE = 4.0  # seconds before one that died is replaced
FAMILIES = itertools.count()
BURY_SECONDS = 5.0  # that one has to end after it has closed its pipe
DESCRIPTORS = 0.8  # of what a process may have open


class Member:
    """A worker, or one who serves all workers."""

    def __init__(self, crew: Crew, number: int, status: WorkerStatus, lock: FileLock) -> None:
        self.crew = crew
        self.place = number if status.role == "worker" else crew.workers  # in this crew, those who serve last
        self.status = status
        self.lock = lock
        self.process: multiprocessing.process.BaseProcess | None = None
        self.family = ""  # by which it and what it starts are found
        self.pipe: Connection | None = None
        self.output: Output | None = None  # what it prints, if the run has a folder to keep it in
        self.error: HogwildError | None = None  # what it said before it ended
        self.why_killed = ""  # if it was us
        self.has_hung = False  # that is why
        self.deaths: list[float] = []
        self.restart_at: float | None = None
        self.steps_before = 0  # that those made whom it replaces

    @property
    def who(self) -> str:
        """What it is called."""
        return f"{self.status.role.capitalize()} {self.status.rank}"

    def start(self) -> None:
        """Spawn the process, or the one that replaces it."""
        ours, theirs = CONTEXT.Pipe()
        self.family = f"{os.getpid()}-{next(FAMILIES)}"
        self.output, printing = self._make_output()
        self.process = CONTEXT.Process(
            target=participant_main,
            args=(self.crew, self.place, self.status.restarts, self.lock, theirs, printing),
            name=f"hogwild {self.status.role} {self.status.rank}",
            daemon=True,
        )
        try:
            with worker_environment(), signals_held_back(), only_a_script_that_is_there(), family(self.family):
                self.process.start()
        except OSError as error:
            ours.close()
            self._close_output()
            raise HogwildError(f"Cannot start a process for {self.who.lower()}: {error.strerror}.") from error
        finally:
            theirs.close()
            if printing is not None:
                printing.close()
        self.pipe = ours
        self.error, self.why_killed, self.has_hung, self.restart_at = None, "", False, None
        self.steps_before = self.status.steps
        self.status.pid, self.status.state = self.process.pid or 0, "starting"

    def _make_output(self) -> tuple[Output | None, Connection | None]:
        """Our end of what it prints, and its own."""
        if self.crew.keeper is None or self.crew.ranks:  # of a machine among several, all that is printed is sent home
            return None, None
        reader, writer = CONTEXT.Pipe(duplex=False)
        path = self.crew.keeper.folder / "output" / f"{self.status.role}-{self.status.rank}.txt"
        return Output(reader, path), writer

    def _close_output(self) -> None:
        if self.output is not None:
            self.output.take()
            self.output.close()
            self.output = None

    @property
    def is_dead(self) -> bool:
        """Whether its process has ended and nobody has heard of it. The pipe alone does not tell: what an environment
        has forked holds the other end, too."""
        return self.pipe is not None and self.process is not None and not self.process.is_alive()

    def hear(self) -> list[tuple[str, Any]]:
        """Everything that it has said; the last may be that it has ended."""
        assert self.pipe is not None
        news: list[tuple[str, Any]] = []
        has_ended = self.is_dead  # asked before, so that nothing which it said is missed
        if has_ended:
            end_families([self.family])  # who has the other end of the pipe might keep half a message from ending
        try:
            while self.pipe.poll():
                news.append(self.pipe.recv())
        except (EOFError, OSError):
            has_ended = True
        return [*news, ("ended", None)] if has_ended else news

    def kill(self, why: str = "", has_hung: bool = False) -> None:
        """End the process at once; what is left of it is heard of as of any other death."""
        self.why_killed, self.has_hung = why, has_hung
        if self.process is not None and self.process.is_alive():
            self.process.kill()

    def bury(self) -> int | None:
        """Wait for a process that has ended, and answer its exit code; what it had started ends with it."""
        assert self.process is not None
        assert self.pipe is not None
        if not self._has_ended_within(BURY_SECONDS):
            self.kill("it closed its pipe and did not end")
            self._has_ended_within(BURY_SECONDS)
        end_families([self.family])
        self.pipe.close()
        self.pipe = None
        self._close_output()
        self.crew.pulse.forget(self.place)
        return self.process.exitcode

    def _has_ended_within(self, seconds: float) -> bool:
        """Wait for the process; `join` would wait for ever for one that has closed all its files."""
        assert self.process is not None
        end = time.monotonic() + seconds
        while self.process.is_alive() and time.monotonic() < end:
            time.sleep(0.005)
        return not self.process.is_alive()

    def blame(self, kind: str, message: str, traceback: str) -> None:
        """It says what went wrong before it ends: kept as the error it was, if it is one of ours."""
        ours, where = getattr(errors, kind, None), "the traceback is in the run's log.txt"
        if ours is not None:
            error: HogwildError = ours(f"{message} ({self.who.lower()}; {where})")
        else:
            error = WorkerDied(f"{self.who} failed: {kind}: {message} ({where})")
        self.error = error.with_details(traceback)

    def cause(self, code: int | None) -> HogwildError:
        """Why it ended, as an error."""
        if code == READ_AGAIN:
            self.error = UsageError(
                "Workers read the script that started them. "
                'Put its call of hogwild.train under `if __name__ == "__main__":`.'
            )
        if self.error is not None:
            return self.error
        return WorkerDied(f"{self.who} (pid {self.status.pid}) died: {self.why_killed or exit_words(code)}.")

    def blames_environment(self, code: int | None) -> bool:
        """Whether it probably died of its environments, and not of somebody who killed it."""
        if self.status.role != "worker":
            return False
        from_outside = code in (-signal.SIGKILL, -signal.SIGTERM)
        return isinstance(self.error, EnvironmentFailed) or (self.error is None and (self.has_hung or not from_outside))

    def is_forgiven(self, error: HogwildError, now: float) -> bool:
        """Whether a death is no reason to end the run: the next one may live longer."""
        limit = 0 if self.crew.settings.execution.record_schedule else self.crew.settings.execution.max_deaths
        self.deaths = [death for death in self.deaths if now - death < WINDOW] + [now]
        never_worked = self.status.restarts == 0 and self.status.steps == self.steps_before == 0
        is_chance = isinstance(error, EnvironmentFailed | WorkerDied) and not isinstance(error, NothingButFaults)
        if self.error is not None and (never_worked or not is_chance):
            return False
        return len(self.deaths) < limit

    def plan_restart(self, now: float) -> None:
        """The next one starts at once after a first death, and a little later after each further one."""
        self.status.state = "dead"
        self.status.restarts += 1
        self.restart_at = now + (0.0 if len(self.deaths) <= 1 else min(LONGEST_PAUSE, 2.0 ** (len(self.deaths) - 2)))

    def excess(self, most_megabytes: float) -> str:
        """What it has too much of, in words."""
        try:
            process = psutil.Process(self.status.pid)
            memory = process.memory_info()
            megabytes = (memory.rss - getattr(memory, "shared", 0)) / 1e6
            descriptors = process.num_fds()
        except (psutil.Error, AttributeError):
            return ""
        if megabytes > most_megabytes:
            return f"had {megabytes:,.0f} MB of memory, and {most_megabytes:,.0f} are the most (--worker-memory)"
        if descriptors > DESCRIPTORS * os.sysconf("SC_OPEN_MAX"):
            return f"had {descriptors} files open, and {os.sysconf('SC_OPEN_MAX')} are the most"
        return ""


def most_memory(settings_megabytes: float, members: int) -> float:
    """The megabytes that one process may have: what was set, or its share of four fifths of the machine."""
    return settings_megabytes or 0.8 * available_memory() / 1e6 / members
