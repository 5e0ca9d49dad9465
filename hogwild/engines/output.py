"""What a participant's process prints, its environments most of all: kept in a file of the run.

Nobody has to read it for training to go on: not a terminal that is gone, and not a program that looks away.
"""

import io
import os
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

KEPT = 1_000_000  # bytes of each participant; what comes after them is read and forgotten
CHUNK = 1 << 16
CHUNKS = 16  # at the most in one go: others want to be heard, too
LAST_WORDS = 2_000  # bytes that are kept for the log, if it dies


class Output:
    """The coordinator's end of what one process prints."""

    def __init__(self, pipe: Connection, path: Path) -> None:
        os.set_blocking(pipe.fileno(), False)
        self.pipe = pipe
        self.path = path
        self.tail = b""
        self.is_over = False  # nobody can print any more: even the last end of the pipe was closed
        self.is_new = not path.exists()  # nobody was told of it yet

    def take(self) -> bool:
        """Keep what was printed since; answers whether it is the first that this participant has printed."""
        printed = b""
        with suppress(BlockingIOError):
            for _ in range(CHUNKS):
                chunk = os.read(self.pipe.fileno(), CHUNK)
                printed += chunk
                if not chunk:
                    self.is_over = True
                    break
        if not printed:
            return False
        self.tail = (self.tail + printed)[-LAST_WORDS:]
        with suppress(OSError):  # a full disk
            self.path.parent.mkdir(exist_ok=True)
            with self.path.open("ab") as file:
                file.write(printed[: max(0, KEPT - file.tell())])
        was_new, self.is_new = self.is_new, False
        return was_new

    def last_words(self) -> str:
        """The end of all that was printed."""
        self.take()
        return self.tail.decode(errors="replace").strip()

    def close(self) -> None:
        """Nobody prints any more."""
        self.pipe.close()


def print_into(pipe: Connection) -> None:
    """Whatever this process prints from now on, also from C, goes into a pipe."""
    for number in (1, 2):
        os.dup2(pipe.fileno(), number)
    pipe.close()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)  # what is in a buffer when a process is killed, nobody reads
