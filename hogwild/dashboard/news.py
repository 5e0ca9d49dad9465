"""What changes in the runs folder: one look at it serves everybody who wants to know."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool

from hogwild.dashboard.catalogue import Catalogue
from hogwild.runs.find import list_runs
from hogwild.runs.folder import RunFolder

LOOK_SECONDS = 0.25  # from one look at the folder to the next
MOST_LOOKING = 0.05  # of the time, however many runs there are


class News:
    """Rows of the table, each with the number of the change that made it so; runs that are gone likewise."""

    def __init__(self, catalogue: Catalogue, now: Callable[[], float] = time.monotonic) -> None:
        self.catalogue, self.now = catalogue, now
        self.number = 0  # of the newest change
        self._rows: dict[str, tuple[int, dict[str, Any]]] = {}
        self._gone: dict[str, int] = {}
        self._stamps: dict[str, Any] = {}
        self._looking = asyncio.Lock()
        self._look_again = 0.0  # then, and not before

    async def look(self) -> None:
        """Look at the folder, unless somebody has just done so."""
        async with self._looking:
            began = self.now()
            if began >= self._look_again:
                self._take_in(*await run_in_threadpool(self._look))
                took = self.now() - began
                self._look_again = began + max(LOOK_SECONDS, took / MOST_LOOKING)

    def since(self, number: int) -> dict[str, Any]:
        """What has changed since a change; since -1 there is everything."""
        changed = [row for changed_at, row in self._rows.values() if changed_at > number]
        gone = [name for name, gone_at in self._gone.items() if gone_at > number]
        return {"all": number < 0, "runs": changed, "gone": [] if number < 0 else gone}

    def _look(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """What tells whether a run has changed, for every run; and the rows of those that have."""
        folders = {folder.name: folder for folder in list_runs(self.catalogue.runs)}
        stamps = {name: _stamps(folder) for name, folder in folders.items()}
        changed = [name for name, stamp in stamps.items() if self._stamps.get(name) != stamp]
        return stamps, {name: self.catalogue.row(folders[name]) for name in changed}

    def _take_in(self, stamps: dict[str, Any], rows: dict[str, dict[str, Any]]) -> None:
        gone = [name for name in self._stamps if name not in stamps]
        self._stamps = stamps
        if rows or gone:
            self.number += 1
            self._rows = {name: kept for name, kept in self._rows.items() if name in stamps}
            self._rows |= {name: (self.number, row) for name, row in rows.items()}
            self._gone = {name: at for name, at in self._gone.items() if name not in stamps}
            self._gone |= dict.fromkeys(gone, self.number)


def _stamps(folder: RunFolder) -> tuple[Any, ...]:
    files = (folder.status, folder.metrics, folder.evaluations, folder.videos, folder.config)
    return (*(_stamp(path) for path in files), folder.is_live())


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size
