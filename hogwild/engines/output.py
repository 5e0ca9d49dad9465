"""What a participant's process prints, its environments most of all: kept in a file of the run.

Nobody has to read it for training to go on: not a terminal that is gone, and not a program that looks away.
"""

import os
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

KEPT = 1_000_000  # bytes of each participant; what comes after them is read and forgotten
CHUNK = 1 << 16
CHUNKS = 16  # at the most in one go: others want to be heard, too
LAST_WORDS = 6_000  # bytes that are kept for the log, if it dies; where it crashed takes two thousand or so


class Output:
    """The coordinator's end of what one process prints."""

    def __init__(self, pipe: Connection, path: Path) -> None:
        os.set_blocking(pipe.fileno(), False)
        self.pipe = pipe
        self.path = path
        self.tail = b""
        self.is_over = False  # nobody can print any more: even the last end of the pipe was closed
        self.kept = path.stat().st_size if path.exists() else 0  # by those before it in its place, too
        self.is_told = self.kept > 0

    def take(self) -> None:
        """Keep what was printed since."""
        printed = b""
        with suppress(BlockingIOError):
            for _ in range(CHUNKS):
                chunk = os.read(self.pipe.fileno(), CHUNK)
                printed += chunk
                if not chunk:
                    self.is_over = True
                    break
        self.tail = (self.tail + printed)[-LAST_WORDS:]
        if printed and self.kept < KEPT:
            with suppress(OSError):  # a full disk
                self.path.parent.mkdir(exist_ok=True)
                with self.path.open("ab") as file:
                    self.kept += file.write(printed[: KEPT - self.kept])

    def notices(self, who: str) -> list[str]:
        """That something was printed, to be said once."""
        if self.is_told or not self.tail:
            return []
        self.is_told = True
        return [f"{who} prints: it is kept in {self.path}."]

    def last_words(self) -> str:
        """The end of all that was printed."""
        self.take()
        return self.tail.decode(errors="replace").strip()

    def close(self) -> None:
        """Nobody prints any more."""
        self.pipe.close()
