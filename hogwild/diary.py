"""What a run says of itself while it trains: to the user, in its log, and in its list of events."""

import math
import time
from collections.abc import Callable
from functools import partial

from hogwild.display import Display
from hogwild.errors import HogwildError, RunFolderError
from hogwild.faults.events import LOST
from hogwild.report import Report
from hogwild.runs.folder import RunFolder

AGAIN_SECONDS = 60.0  # until the same trouble is said again


class Diary:
    """Says and writes down what happens to a run; what can happen many times is said once."""

    def __init__(self, folder: RunFolder, display: Display) -> None:
        self.folder = folder
        self.display = display
        self.told: set[str] = set()  # whose episodes were lost
        self.troubles: dict[type[RunFolderError], float] = {}  # with the disk, and when they were said

    def attempt(self, write: Callable[[], object]) -> None:
        """Write what a full or broken disk may refuse: that is said once in a while, and training goes on."""
        try:
            write()
        except RunFolderError as error:
            kind, now = type(error), time.monotonic()
            if now - self.troubles.get(kind, -math.inf) > AGAIN_SECONDS:
                self.troubles[kind] = now
                self.display.warn(f"{error} Training goes on, and it is tried again.")

    def warn(self, *complaints: str) -> None:
        """Say what looks wrong, on the display and in the log."""
        for complaint in filter(None, complaints):
            self.attempt(partial(self.folder.note, complaint))
            self.display.warn(complaint)

    def tell(self, report: Report, step: int) -> None:
        """Say what the run has survived, and what else there is to say."""
        self.warn(*report.notices)
        for event in report.events:
            self.attempt(partial(self.folder.add_event, event, step))
            if event.kind == LOST and event.who in self.told:
                continue
            self.told |= {event.who} if event.kind == LOST else set()
            again = f" To see it again: hogwild reproduce {event.capsule}" if event.capsule else ""
            self.warn(event.words + again)
        report.events = []

    def log(self, error: HogwildError) -> None:
        """Write down why the run failed."""
        self.folder.note(f"failed: {error}\n{error.details}".rstrip())
