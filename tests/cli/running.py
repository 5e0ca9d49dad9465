"""Running the command in a process of its own, and seeing to it that nothing of it is left."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

COMMAND = [sys.executable, "-m", "hogwild"]


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str


class Started:
    """A command that runs, in a session of its own so that nothing it starts can hide."""

    def __init__(self, arguments: list[str], folder: Path, **options: Any) -> None:
        self.out, self.err = folder / f"{len(os.listdir(folder))}.out", folder / f"{len(os.listdir(folder))}.err"
        settings = {"stdin": subprocess.DEVNULL, "cwd": folder, "start_new_session": True, "env": environment()}
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(
                [*COMMAND, *arguments], **{"stdout": out, "stderr": err} | settings | options
            )
        self.pid = self.process.pid

    def signal_all(self, number: int) -> None:
        """Signal the whole group, as a terminal or `timeout` does."""
        os.killpg(self.pid, number)

    def wait(self, seconds: float = 90.0) -> Ended:
        """Wait for the end; whatever is left of the command's processes after it is an error."""
        try:
            code = self.process.wait(seconds)
            wait_until(lambda: not self.family(), 10.0, f"{self.family()} to end")
        finally:
            for process in self.family():
                process.kill()
            self.process.wait()
        return Ended(code, self.out.read_text(), self.err.read_text())

    def family(self) -> list[psutil.Process]:
        """Every living process of the command's session."""
        found = []
        for process in psutil.process_iter(["status"]):
            try:
                if os.getsid(process.pid) == self.pid and process.info["status"] != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (OSError, psutil.Error):
                continue
        return found

    def command_lines(self) -> list[str]:
        """What those processes were started as."""
        found = []
        for process in self.family():
            with suppress(psutil.Error):  # it may have ended since
                found.append(" ".join(process.cmdline()))
        return found


def environment() -> dict[str, str]:
    """This environment with one thread for each process, and without a terminal's width."""
    return {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")} | {"OMP_NUM_THREADS": "1"}


def wait_until(condition: Callable[[], Any], seconds: float, what: str) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:g} s for {what}"
        time.sleep(0.05)


def call(*arguments: str, folder: Path) -> Ended:
    """Run a command in a process of its own, to its end."""
    return Started(list(arguments), folder).wait()
