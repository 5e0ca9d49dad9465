"""Curves for the page: smoothed, thinned out to what a screen can show, with bands of what was left out."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hogwild.comparison_runs import AXES, BESIDE_THE_METHOD
from hogwild.dashboard.tables import Array, Tables
from hogwild.errors import HogwildError
from hogwild.resolve import read_settings
from hogwild.runs.folder import RunFolder

RETURNS = "episode/return"  # every game: not a metric, but drawn like one
MOST_POINTS = 4000
BAND = (10, 90)  # percentiles of games


@dataclass(frozen=True)
class Wanted:
    """What part of a curve is asked for."""

    by: str = "steps"
    low: float | None = None  # on the axis
    high: float | None = None
    points: int = 600
    smooth: float = 0.0  # weight of what came before, from 0 to below 1
    log: bool = False  # the axis is logarithmic

    def edges(self, x: Array) -> Array:
        """Borders of the buckets over the part of the axis that is asked for."""
        low = x[0] if self.low is None else max(self.low, float(x[0]))
        high = x[-1] if self.high is None else min(self.high, float(x[-1]))
        if self.log and high > 0:
            positive = x[x > 0]
            low = max(low, float(positive[0]) if len(positive) else high)
            return np.geomspace(low, max(high, low), self.points + 1)
        return np.linspace(low, max(high, low), self.points + 1)


@dataclass(frozen=True)
class Curve:
    """Points of a curve, and the band around it; empty where there is none."""

    x: Array
    y: Array
    low: Array
    high: Array

    def as_json(self) -> dict[str, list[float | None]]:
        """As the page wants it: numbers of six digits, None for what is not a number."""
        return {name: _plain(getattr(self, name)) for name in ("x", "y", "low", "high")}


NOTHING = np.zeros(0)
EMPTY = Curve(NOTHING, NOTHING, NOTHING, NOTHING)


def _plain(values: Array) -> list[float | None]:
    return [None if not np.isfinite(v) else float(f"{v:.6g}") if abs(v) < 1e6 else round(float(v), 2) for v in values]


def smoothed(values: Array, weight: float) -> Array:
    """An exponential mean that does not lean towards zero at its start; gaps stay gaps.

    >>> smoothed(np.array([1.0, 1.0, 4.0]), 0.5).tolist()
    [1.0, 1.0, 2.7142857142857144]
    """
    if not weight:
        return values
    result, total, count = np.empty(len(values)), 0.0, 0.0
    for index, value in enumerate(values.tolist()):
        if value == value:
            total, count = weight * total + value, weight * count + 1
        result[index] = total / count if value == value else np.nan
    return result


def thin(x: Array, y: Array, wanted: Wanted) -> Curve:
    """At most so many points: the mean of each bucket, and its smallest and largest value as the band."""
    known = np.isfinite(y) & np.isfinite(x)
    x, y = x[known], y[known]
    if not len(x):
        return EMPTY
    y_smooth, edges = smoothed(y, wanted.smooth), wanted.edges(x)
    # One point beyond each side, so that the line goes on to the edge of the picture.
    inside = slice(max(0, np.searchsorted(x, edges[0], "left") - 1), np.searchsorted(x, edges[-1], "right") + 1)
    x, y, y_smooth = x[inside], y[inside], y_smooth[inside]
    if len(x) <= wanted.points:
        return Curve(x, y_smooth, NOTHING, NOTHING)
    starts = np.unique(np.searchsorted(x, edges[:-1], "left").clip(0, len(x) - 1))
    counts = np.diff(np.append(starts, len(x)))
    return Curve(
        np.add.reduceat(x, starts) / counts,
        np.add.reduceat(y_smooth, starts) / counts,
        np.minimum.reduceat(y, starts),
        np.maximum.reduceat(y, starts),
    )


def games(x: Array, returns: Array, wanted: Wanted) -> Curve:
    """Mean return of the games of each bucket, with the band in which most of them are."""
    if not len(x):
        return EMPTY
    edges = wanted.edges(x)
    inside = slice(np.searchsorted(x, edges[0], "left"), np.searchsorted(x, edges[-1], "right"))
    x, returns = x[inside], returns[inside]
    if not len(x):
        return EMPTY
    # A bucket holds enough games to say where most of them are.
    buckets = max(1, min(wanted.points, len(x) // 10))
    parts = [part for part in np.array_split(np.arange(len(x)), buckets) if len(part)]
    bands = np.array([np.percentile(returns[part], BAND) for part in parts])
    means = np.array([returns[part].mean() for part in parts])
    return Curve(np.array([x[part].mean() for part in parts]), smoothed(means, wanted.smooth), bands[:, 0], bands[:, 1])


class Curves:
    """Curves of runs by name of a metric."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def raw(self, folder: RunFolder, metric: str, by: str) -> tuple[Array, Array]:
        """All points of a curve."""
        columns, (name, factor) = self.tables.metrics(folder), AXES[by]
        if metric == RETURNS:
            return self._games(folder, by, columns)
        if metric not in columns or name not in columns:
            return NOTHING, NOTHING
        return columns[name] * factor, columns[metric]

    def _games(self, folder: RunFolder, by: str, columns: dict[str, Array]) -> tuple[Array, Array]:
        table = self.tables.episodes(folder)
        axes = {"steps": table[:, 0], "minutes": table[:, 1] / 60, "episodes": np.arange(1.0, len(table) + 1)}
        if by in axes:
            return axes[by], table[:, 3]
        if AXES[by][0] not in columns:
            return NOTHING, NOTHING
        return np.interp(table[:, 0], columns["progress/steps"], columns[AXES[by][0]] * AXES[by][1]), table[:, 3]

    def one(self, folder: RunFolder, metric: str, wanted: Wanted) -> Curve:
        """The curve of one run."""
        x, y = self.raw(folder, metric, wanted.by)
        return games(x, y, wanted) if metric == RETURNS else thin(x, y, wanted)

    def many(self, folders: Sequence[RunFolder], metric: str, wanted: Wanted) -> Curve:
        """Runs that differ in their seed alone: their median, and the band from the lowest to the highest."""
        curves = [self.one(folder, metric, wanted) for folder in folders]
        points = [(curve.x, curve.y) for curve in curves if len(curve.x)]
        if not points:
            return EMPTY
        span = np.array([min(x[0] for x, _ in points), max(x[-1] for x, _ in points)])
        grid = wanted.edges(span)
        rows = np.array([np.interp(grid, x, y, left=np.nan, right=np.nan) for x, y in points])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where no run has begun, or all have ended
            return Curve(grid, np.nanmedian(rows, axis=0), np.nanmin(rows, axis=0), np.nanmax(rows, axis=0))


def by_method(folders: Sequence[RunFolder]) -> list[list[RunFolder]]:
    """Runs that differ in nothing but their seed, together."""
    groups: dict[str, list[RunFolder]] = {}
    for folder in folders:
        try:
            settings: dict[str, Any] = read_settings(folder.config).flat()
            key = repr([item for item in settings.items() if item[0] not in BESIDE_THE_METHOD])
        except HogwildError:  # what cannot be read is alone
            key = folder.name
        groups.setdefault(key, []).append(folder)
    return list(groups.values())
