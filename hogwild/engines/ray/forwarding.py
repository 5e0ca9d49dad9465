"""What workers write on another machine, and what belongs into the run's folder: capsules, games, what they print."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from hogwild.live.mailbox import Inbox, Outbox, is_fresh, wanted_file
from hogwild.policies.spec import PolicySpec
from hogwild.report import Report

MOST_PRINTED = 64 * 1024  # bytes in one parcel; what is more is left out
MOST_MOMENTS = 32  # of a game in one parcel


class Capsules:
    """Reads capsules of faults where they were written."""

    def of(self, reports: list[Report]) -> dict[str, bytes]:
        """Those that reports name, by their names."""
        named = [Path(event.capsule) for report in reports for event in report.events if event.capsule]
        return {path.name: path.read_bytes() for path in named if path.is_file()}


def place_capsules(folder: Path, capsules: dict[str, bytes], reports: list[Report]) -> None:
    """Write capsules that came from elsewhere to the run's folder, and say so in the events that name them."""
    for name, content in capsules.items():
        try:
            folder.mkdir(exist_ok=True)
            (folder / Path(name).name).write_bytes(content)
        except OSError:  # a full disk is no reason to lose more than a capsule
            continue
    for report in reports:
        report.events = [
            replace(event, capsule=str(folder / Path(event.capsule).name)) if event.capsule else event
            for event in report.events
        ]


class Printed:
    """What this process and its children print from now on, a part at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.read_so_far = 0

    def begin(self) -> None:
        """Send what is printed to a file of ours."""
        file = os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.close(file)

    def read(self) -> str:
        """What was printed since somebody asked."""
        try:
            size = self.path.stat().st_size
            with self.path.open("rb") as file:
                file.seek(max(self.read_so_far, size - MOST_PRINTED))
                text = file.read(MOST_PRINTED)
        except OSError:
            return ""
        self.read_so_far = size
        return text.decode(errors="replace")


class Relay:
    """The games that somebody looks at, where they are played."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.inboxes: dict[int, Inbox] = {}

    def look(self, ranks: tuple[int, ...]) -> dict[int, np.ndarray]:
        """What these workers have played since the last look."""
        self.inboxes = {rank: self.inboxes.get(rank) or Inbox(self.folder, rank) for rank in ranks}
        found: dict[int, np.ndarray] = {}
        for rank, inbox in self.inboxes.items():
            self.folder.mkdir(exist_ok=True)
            inbox.look()
            if moments := list(inbox.moments(MOST_MOMENTS)):
                found[rank] = np.array(moments)
        return found


class Screens:
    """The same games in the run's folder, for viewers to whom it is all the same where they are played."""

    def __init__(self, folder: Path, spec: PolicySpec) -> None:
        self.folder, self.spec = folder, spec
        self.outboxes: dict[int, Outbox] = {}

    def wanted(self, ranks: tuple[int, ...]) -> tuple[int, ...]:
        """At whose games somebody looks."""
        return tuple(rank for rank in ranks if is_fresh(wanted_file(self.folder, rank)))

    def show(self, moments: dict[int, np.ndarray]) -> None:
        """Show what was played elsewhere."""
        for rank, played in moments.items():
            outbox = self.outboxes.setdefault(rank, Outbox(self.folder, rank, self.spec))
            if outbox.is_there():
                for moment in played:
                    outbox.see(**{name: moment[name] for name in moment.dtype.names if name != "number"})
