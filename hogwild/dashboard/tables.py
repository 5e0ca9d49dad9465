"""The rows of a run as columns of numbers, read once and then only what was added."""

import json
import math
import os
import threading
from array import array
from collections import OrderedDict
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from hogwild.runs.folder import RunFolder

KEPT = 64  # runs whose columns stay in memory
END_BYTES = 64  # of what was read, by which a file is known again: a new one may have the number of the old one
Array = np.ndarray
Kind = TypeVar("Kind")


class Columns(Protocol):
    """What is read from a growing file of rows."""

    def add(self, line: str) -> None:
        """Take in one line; a damaged one is passed over."""
        ...

    def clear(self) -> None:
        """Forget all rows."""
        ...


class MetricColumns:
    """The numbers of `metrics.jsonl` by name; where a row lacks one, it is not a number."""

    def __init__(self) -> None:
        self.values: dict[str, array[float]] = {}
        self.length = 0
        self._arrays: dict[str, Array] | None = None

    def add(self, line: str) -> None:
        """Take in one row."""
        try:
            row = json.loads(line)
        except ValueError:
            return
        if not isinstance(row, dict) or not _is_number(row.get("progress/steps")):
            return
        self._arrays = None
        for name, value in row.items():
            column = self.values.get(name)
            if column is None:
                column = self.values[name] = array("d", [math.nan]) * self.length
            column.append(float(value) if _is_number(value) else math.nan)
        self.length += 1
        for column in self.values.values():
            if len(column) < self.length:
                column.append(math.nan)

    def clear(self) -> None:
        """Forget all rows."""
        self.values, self.length, self._arrays = {}, 0, None

    def arrays(self) -> dict[str, Array]:
        """All columns as they are now; later rows make new ones."""
        if self._arrays is None:
            self._arrays = {name: np.array(column) for name, column in self.values.items()}
        return self._arrays


class EpisodeColumns:
    """Step, seconds, worker, return and length of every game of `episodes.csv`."""

    def __init__(self) -> None:
        self.rows = array("d")
        self._table: Array | None = None

    def add(self, line: str) -> None:
        """Take in one game."""
        try:
            row = tuple(map(float, line.split(",")))
        except ValueError:  # the head of the table
            return
        if len(row) == 5 and all(map(math.isfinite, row)):
            self._table = None
            self.rows.extend(row)

    def clear(self) -> None:
        """Forget all games."""
        self.rows, self._table = array("d"), None

    def table(self) -> Array:
        """[games, 5]; later games make a new one."""
        if self._table is None:
            self._table = np.array(self.rows).reshape(-1, 5)
        return self._table


class Tail:
    """A file of lines that grows: each call reads what was added since the last one."""

    def __init__(self, path: Path, into: Columns) -> None:
        self.path, self.into = path, into
        self.inode, self.offset, self.last = 0, 0, b""

    def read(self) -> None:
        """Take in new lines; a file that was replaced or cut, as by a resumed run, is read anew."""
        try:
            with open(self.path, "rb") as file:
                status = os.fstat(file.fileno())
                file.seek(self.offset - len(self.last))
                if (
                    status.st_ino != self.inode
                    or status.st_size < self.offset
                    or file.read(len(self.last)) != self.last
                ):
                    self.into.clear()
                    self.inode, self.offset = status.st_ino, 0
                file.seek(self.offset)
                content = file.read()
        except OSError:
            self.into.clear()
            self.inode, self.offset, self.last = 0, 0, b""
            return
        whole = content.rfind(b"\n") + 1
        self.offset += whole
        self.last = content[:whole][-END_BYTES:] or self.last
        for line in content[:whole].decode("utf-8", errors="replace").splitlines():
            self.into.add(line)


class Tables:
    """The columns of the runs that were asked for lately. Requests come in threads, so each gets a copy."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._metrics: OrderedDict[Path, tuple[Tail, MetricColumns]] = OrderedDict()
        self._episodes: OrderedDict[Path, tuple[Tail, EpisodeColumns]] = OrderedDict()

    def metrics(self, folder: RunFolder) -> dict[str, Array]:
        """The metrics of a run by name, up to date, all of one length."""
        with self._lock:
            if folder.path not in self._metrics:
                columns = MetricColumns()
                self._metrics[folder.path] = Tail(folder.metrics, columns), columns
            return _fresh(self._metrics, folder.path).arrays()

    def episodes(self, folder: RunFolder) -> Array:
        """The games of a run, up to date: step, seconds, worker, return, length of each."""
        with self._lock:
            if folder.path not in self._episodes:
                columns = EpisodeColumns()
                self._episodes[folder.path] = Tail(folder.episodes, columns), columns
            return _fresh(self._episodes, folder.path).table()


def _fresh(cache: "OrderedDict[Path, tuple[Tail, Kind]]", path: Path) -> Kind:
    cache.move_to_end(path)
    while len(cache) > KEPT:
        cache.popitem(last=False)
    tail, columns = cache[path]
    tail.read()
    return columns


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def sample(path: Path, x: str, y: str, points: int) -> list[tuple[float, float]]:
    """A few rows of a file of metrics, evenly spread, without reading the rest: enough for a small picture of it."""
    found = []
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            for number in range(points):
                file.seek(max(0, size * number // points - 1))
                file.readline()  # the rest of a line that began before
                row = _row(file.readline())
                if row and _is_number(row.get(x)) and _is_number(row.get(y)):
                    found.append((float(row[x]), float(row[y])))
    except OSError:
        return []
    return sorted(set(found))


def _row(line: bytes) -> dict[str, float]:
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}
