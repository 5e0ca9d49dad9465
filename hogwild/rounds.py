"""The doctor's rounds, while a run trains, and his reading of one that lies in its folder."""

import time
from collections import deque
from collections.abc import Sequence

from hogwild.doctor import GAMES, Patient, Row, examine
from hogwild.reference import find_reference
from hogwild.report import Episode
from hogwild.resolve import Resolved, read_settings, resolve
from hogwild.runs.folder import RunFolder
from hogwild.runs.writers import read_episodes, read_rows

ROUND_SECONDS = 20.0
READ = 2000  # rows of a run that lies in its folder
KEPT = 256  # rows of one that trains


class Thinned:
    """Rows of all of a run, however long it is, in bounded memory: when there are too many, every second one goes.

    >>> rows = Thinned(4)
    >>> for step in range(9):
    ...     rows.add({"progress/steps": step})
    >>> [int(row["progress/steps"]) for row in rows.kept]
    [0, 4, 8]
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.kept: list[Row] = []
        self.every = 1
        self.seen = 0

    def add(self, row: Row) -> None:
        """Take in a row."""
        if self.seen % self.every == 0:
            if len(self.kept) >= self.most:
                self.kept, self.every = self.kept[::2], 2 * self.every
            if self.seen % self.every == 0:
                self.kept.append(row)
        self.seen += 1


class Rounds:
    """Looks at a run every now and then, and says everything once."""

    def __init__(self, resolved: Resolved) -> None:
        self.resolved = resolved
        self.reference = find_reference(resolved)
        self.rows = Thinned(KEPT)
        self.games: dict[int, deque[tuple[int, float, float]]] = {}  # of each worker
        self.told: set[str] = set()
        self.looked = time.monotonic()

    def hear(self, finished: Sequence[Episode]) -> None:
        """Take in games that have ended."""
        for game in finished:
            kept = self.games.setdefault(game.worker, deque(maxlen=2 * GAMES))
            kept.append((game.worker, game.episode_return, float(game.length)))

    def look(self, row: Row) -> list[str]:
        """Take in a row; when it is time, what looks wrong and has not been said yet, in words."""
        self.rows.add(row)
        if time.monotonic() - self.looked < ROUND_SECONDS:
            return []
        self.looked = time.monotonic()
        games = [game for kept in self.games.values() for game in kept]
        found = examine(
            Patient(self.resolved, [*(kept for kept in self.rows.kept if kept is not row), row], games, self.reference)
        )
        new = [finding for finding in found if finding.rule not in self.told]
        self.told |= {finding.rule for finding in new}
        return [f"{finding.rule}: {finding.what}. Try {finding.advice}." for finding in new]


def read_patient(folder: RunFolder) -> Patient:
    """A run as the doctor looks at it."""
    resolved = resolve(read_settings(folder.config))
    games = [
        (int(worker), float(score), float(length)) for _, _, worker, score, length in read_episodes(folder.episodes)
    ]
    rows = [row for _, row in read_rows(folder.metrics, most=READ)]
    return Patient(resolved, rows, games, find_reference(resolved))
