"""The terminal: its size, its keys, the graphics it knows; left as it was found."""

import contextlib
import os
import re
import select
import shutil
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager

ENTER = "\x1b[?1049h\x1b[?25l\x1b[2J"  # another screen, no cursor
LEAVE = "\x1b_Ga=d,q=2\x1b\\\x1b[?25h\x1b[?1049l"
BEGIN, END = "\x1b[?2026h", "\x1b[?2026l"  # what is in between appears at once
ASK = "\x1b_Gi=77,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[16t\x1b[c"  # kitty graphics? size of a cell? what are you?
ANSWER_SECONDS = 0.5
CELL = (20, 10)  # height and width in pixels, where the terminal does not say


class Terminal:
    """A terminal that shows pictures and listens to keys."""

    def __init__(self) -> None:
        self.keyboard = sys.stdin.fileno()
        self.graphics, self.cell = "blocks", CELL

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take over the whole screen; whatever happens, it is given back."""
        before = termios.tcgetattr(self.keyboard)
        try:
            tty.setcbreak(self.keyboard)
            self.graphics, self.cell = read_answer(self._ask())
            self.write(ENTER)
            yield
        finally:
            self.write(LEAVE)
            termios.tcsetattr(self.keyboard, termios.TCSADRAIN, before)

    def _ask(self) -> str:
        """What the terminal says of itself; the last question is one that all of them answer."""
        self.write(ASK)
        answer, deadline = "", time.monotonic() + ANSWER_SECONDS
        while not re.search(r"\x1b\[\?[\d;]*c", answer) and time.monotonic() < deadline:
            answer += self.keys(deadline - time.monotonic())
        return answer

    def keys(self, seconds: float) -> str:
        """Keys pressed within so many seconds."""
        if not select.select([self.keyboard], [], [], max(0.0, seconds))[0]:
            return ""
        return os.read(self.keyboard, 1024).decode(errors="ignore")

    def write(self, text: str) -> None:
        """Show text at once; a terminal that has gone away is no error."""
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.write(text)
            sys.stdout.flush()

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns."""
        columns, rows = shutil.get_terminal_size()
        return rows, columns


def read_answer(answer: str) -> tuple[str, tuple[int, int]]:
    """The best graphics that a terminal says it has, and the size of its cells.

    >>> read_answer("\\x1b_Gi=77;OK\\x1b\\\\\\x1b[6;18;9t\\x1b[?62;4c"), read_answer("\\x1b[?62;4;22c"), read_answer("")
    (('kitty', (18, 9)), ('sixel', (20, 10)), ('blocks', (20, 10)))
    """
    size = re.search(r"\x1b\[6;(\d+);(\d+)t", answer)
    cell = (int(size[1]), int(size[2])) if size and int(size[1]) and int(size[2]) else CELL
    if "\x1b_Gi=77;OK" in answer:
        return "kitty", cell
    attributes = re.search(r"\x1b\[\?([\d;]*)c", answer)
    if attributes and "4" in attributes[1].split(";"):
        return "sixel", cell
    return "blocks", cell
