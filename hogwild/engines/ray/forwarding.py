"""What workers write on another machine, and what belongs into the run's folder: capsules, games, what they print."""

import fcntl
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from hogwild.live.mailbox import Inbox, Outbox, is_fresh, wanted_file
from hogwild.policies.spec import PolicySpec
from hogwild.report import Report

MOST_PRINTED = 64 * 1024  # bytes in one parcel; what is more is left out
MOST_MOMENTS = 32  # of a game in one parcel


def read_capsules(reports: list[Report]) -> dict[str, bytes]:
    """Capsules of faults that reports name, by their names, where they were written."""
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
    """What this process and its children print, a part at a time; it is kept in a file without a name."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile("w+b", buffering=0)  # noqa: SIM115 (it lives as long as we do)

    def begin(self) -> None:
        """Send what is printed from now on here."""
        flags = fcntl.fcntl(self.file, fcntl.F_GETFL)
        fcntl.fcntl(self.file, fcntl.F_SETFL, flags | os.O_APPEND)
        os.dup2(self.file.fileno(), 1)
        os.dup2(self.file.fileno(), 2)

    def read(self) -> str:
        """What was printed since somebody asked, or the last part of it; then it is forgotten."""
        if self.file.closed:
            return ""
        size = os.fstat(self.file.fileno()).st_size
        text = os.pread(self.file.fileno(), MOST_PRINTED, max(0, size - MOST_PRINTED))
        os.ftruncate(self.file.fileno(), 0)
        return text.decode(errors="replace")

    def close(self) -> None:
        """Keep no more; whoever still prints keeps the file alive."""
        self.file.close()


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
