"""The runs of a comparison: finding them, reading how their returns grew, and which of them are one method."""

import dataclasses
import fnmatch
import glob
import itertools
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hogwild.config.settings import Settings
from hogwild.errors import UsageError
from hogwild.maths.comparison import Array, interquartile_mean
from hogwild.progress import RECENT
from hogwild.resolve import read_file
from hogwild.runs.find import find_run, list_runs, summarise
from hogwild.runs.folder import RunFolder, read_json
from hogwild.runs.writers import read_episodes, read_rows

# Axis: its metric, and the factor that turns the metric into the axis' unit.
AXES = {
    "steps": ("progress/steps", 1.0),
    "minutes": ("progress/seconds", 1 / 60),
    "updates": ("progress/updates", 1.0),
    "episodes": ("episode/count", 1.0),
}
# Which run it is and how it is written down: nothing that changes how it learns.
BESIDE_THE_METHOD = (
    "seed",
    "name",
    "runs",
    "checkpoint_seconds",
    "keep_checkpoints",
    "log_seconds",
    "track",
    "detailed_logs",
)
# Another method only if nothing else differs: how long it was trained, and what was written down of it.
BESIDE_A_LABEL = ("steps", "schedule_steps", "minutes", "until_return", "record_schedule")
MADE_UP_NAME = re.compile(r"-\d{8}-\d{6}(-\d+)?$")  # the time at the end of a name that nobody chose
FEW_SETTINGS = 2  # that a label may name one by one
THRESHOLDS = (0.5, 0.75, 0.9)  # of the way from the lowest return to the best method's
SEED_AT_END = re.compile(r"([-_.]+(seed|s)?|seed)[-_.]*\d*$")


@dataclass(frozen=True)
class Course:
    """One run: its settings, and its mean return along every axis."""

    name: str
    path: str
    settings: dict[str, Any]
    summary: dict[str, Any]
    meta: dict[str, Any]
    axes: dict[str, Array]
    returns: Array
    games: "Games | None" = None

    @property
    def env(self) -> str:
        """The environment, as the settings name it."""
        return str(self.settings["env"])

    @property
    def revision(self) -> str:
        """What the run was made with."""
        git = self.meta.get("git") or {}
        if not git.get("revision"):
            return f"hogwild {self.meta.get('versions', {}).get('hogwild', '?')}"
        return str(git["revision"])[:12] + (" + changes" if git.get("diff") else "")

    @property
    def steps_per_second(self) -> float:
        """Speed over the whole run."""
        return float(self.axes["steps"][-1] / max(self.axes["minutes"][-1] * 60, 1e-9))

    def at(self, x: Array | float, by: str) -> Array:
        """Mean return at places on an axis, straight between two rows of metrics."""
        return np.asarray(np.interp(x, self.axes[by], self.returns))

    def first_at(self, wanted: float, by: str) -> float:
        """Where on an axis the mean of the last 100 games first reached a return; infinite if it never did."""
        axes, means = (self.games.axes, self.games.means) if self.games else (self.axes, self.returns)
        reached = (means >= wanted) & (axes["episodes"] >= RECENT)
        return float(axes[by][np.argmax(reached)]) if reached.any() else math.inf

    def scaled(self, low: float, high: float) -> "Course":
        """The same course with returns that are 0 at `low` and 1 at `high`."""
        return dataclasses.replace(self, returns=(self.returns - low) / ((high - low) or 1.0))


@dataclass(frozen=True)
class Games:
    """Every game of a run, finer than its rows: where it ended, and the mean return of the last 100 up to it."""

    axes: dict[str, Array]
    means: Array


@dataclass(frozen=True)
class Speed:
    """Steps per second with a number of workers, and how many times those of the fewest that is."""

    series: str
    workers: int
    seeds: int
    steps_per_second: float
    relative: float


def find_runs(wanted: Iterable[str], runs: str = "runs") -> list[RunFolder]:
    """Runs by name, path, the word 'latest', or a pattern such as `cart*`; each of them once."""
    found: dict[str, RunFolder] = {}
    for word in wanted:
        if not glob.has_magic(word) or (Path(word) / "config.toml").is_file():
            matching = [find_run(word, runs)]
        else:
            paths = [RunFolder(Path(p)) for p in sorted(glob.glob(word)) if (Path(p) / "config.toml").is_file()]
            matching = [f for f in list_runs(runs) if fnmatch.fnmatchcase(f.name, word)] or paths
        if not matching:
            there = ", ".join(f.name for f in list_runs(runs)[:5])
            raise UsageError(f"No run in '{runs}' matches '{word}'." + (f" There are {there} …" if there else ""))
        found |= {os.path.realpath(folder.path): folder for folder in matching}
    return list(found.values())


def read_course(folder: RunFolder) -> Course:
    """How a run went; one in which no game has ended yet is refused."""
    rows = [row for _, row in read_rows(folder.metrics)]
    needed = ["episode/return_mean", *(metric for metric, _ in AXES.values())]
    table = np.array([[row[n] for n in needed] for row in rows if all(_is_number(row.get(n)) for n in needed)])
    if not len(table):
        raise UsageError(f"Run '{folder.name}' has no finished episode yet: there is nothing to compare.")
    table = table[np.append(np.diff(table[:, 1]) > 0, True)]  # of rows at the same step, the last
    axes = {axis: table[:, i] * factor for i, (axis, (_, factor)) in enumerate(AXES.items(), start=1)}
    return Course(
        name=folder.name,
        path=str(folder.path),
        settings=Settings().update(**read_file(folder.config)).flat(),
        summary=summarise(folder),
        meta=read_json(folder.meta),
        axes=axes,
        returns=table[:, 0],
        games=read_games(folder, axes),
    )


def read_games(folder: RunFolder, axes: dict[str, Array]) -> Games | None:
    """All games of a run, or None if it kept no list of them."""
    ended = read_episodes(folder.episodes)
    if not ended:
        return None
    steps, seconds, _, returns, _ = np.array(ended, dtype=float).T
    count = np.arange(1.0, len(ended) + 1)
    total = np.concatenate([[0.0], np.cumsum(returns)])
    means = (total[1:] - total[np.maximum(np.arange(len(ended)) + 1 - RECENT, 0)]) / np.minimum(count, RECENT)
    updates = np.interp(steps, axes["steps"], axes["updates"])
    return Games({"steps": steps, "minutes": seconds / 60, "updates": updates, "episodes": count}, means)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def group_by_method(courses: Sequence[Course]) -> list[list[Course]]:
    """Runs that differ in nothing but their seed, together.

    Another environment is another group, unless several methods went through the very same environments: then these
    are the strata of one comparison.
    """
    methods = _group(courses, (*BESIDE_THE_METHOD, "env"))
    everywhere = {c.env for c in courses}
    if len(methods) > 1 and len(everywhere) > 1 and all({c.env for c in m} == everywhere for m in methods):
        return methods
    return _group(courses, BESIDE_THE_METHOD)


def _group(courses: Sequence[Course], left_out: Sequence[str]) -> list[list[Course]]:
    groups: dict[str, list[Course]] = {}
    for course in courses:
        key = repr([(name, value) for name, value in course.settings.items() if name not in left_out])
        groups.setdefault(key, []).append(course)
    return list(groups.values())


def differing_settings(groups: Sequence[Sequence[Course]], left_out: Sequence[str] = ()) -> list[dict[str, Any]]:
    """For each group, the settings in which not all groups are alike."""
    firsts = [group[0].settings for group in groups]
    pooled = ("env",) if any(len({c.env for c in group}) > 1 for group in groups) else ()
    names = [n for n in firsts[0] if n not in (*BESIDE_THE_METHOD, *pooled, *left_out)]
    names = [n for n in names if any(s[n] != firsts[0][n] for s in firsts)]
    names = [n for n in names if n not in BESIDE_A_LABEL] or names
    if "steps" in names and all(s["schedule_steps"] in (0, s["steps"]) for s in firsts):
        names = [n for n in names if n != "schedule_steps"]  # it follows from the steps
    return [{n: s[n] for n in names} for s in firsts]


def label_groups(groups: Sequence[Sequence[Course]], settings: Sequence[dict[str, Any]]) -> list[str]:
    """A short name for each group: what its runs' names have in common, or else the settings that set it apart."""
    stems = [common_stem([course.name for course in group]) for group in groups]
    labels = []
    for group, stem, own in zip(groups, stems, settings, strict=True):
        described = _described(own, settings)
        is_chosen = bool(stem) and stems.count(stem) == 1
        if is_chosen and len(group) == 1 and described:  # a name that nobody chose tells less than the settings
            is_chosen = not MADE_UP_NAME.search(group[0].name)
        label = stem if is_chosen else described or group[0].name
        labels.append(label if label not in labels else f"{label} ({group[0].name})")
    return labels


def _described(own: dict[str, Any], of_all: Sequence[dict[str, Any]]) -> str:
    """Settings of a group in words; of many, only those that it does not share with most groups, if there are any."""
    common = {name: Counter(repr(other[name]) for other in of_all).most_common(1)[0][0] for name in own}
    rare = [name for name in own if repr(own[name]) != common[name]]
    if len(own) > FEW_SETTINGS and not rare and len(of_all) > 2:
        return "base"
    names = rare if rare and len(own) > FEW_SETTINGS else list(own)
    return ", ".join(f"{name}={setting_words(own[name])}" for name in names)


def normalise(groups: Sequence[Sequence[Course]]) -> list[list[Course]]:
    """The same groups with returns between 0 and 1, the lowest and highest of all runs in each environment."""
    returns: dict[str, list[float]] = {}
    for course in itertools.chain(*groups):
        returns.setdefault(course.env, []).extend([course.returns.min(), course.returns.max()])
    return [[c.scaled(min(returns[c.env]), max(returns[c.env])) for c in group] for group in groups]


def at_words(x: float, by: str) -> str:
    """A place on an axis in words.

    >>> at_words(100_000, "steps"), at_words(2.5, "minutes")
    ('100,000 steps', '2.50 minutes')
    """
    return f"{x:,.2f} {by}" if by == "minutes" else f"{x:,.0f} {by}"


def sensible_scores(groups: Sequence[Sequence[Course]], by: str, budget: float) -> list[float]:
    """Returns worth timing: round numbers on the way from the lowest return to the best method's at the budget."""
    low = min(float(c.returns.min()) for group in groups for c in group)
    high = max(float(interquartile_mean(np.array([c.at(budget, by) for c in group]))) for group in groups)
    if high <= low:
        return []
    unit = 10.0 ** math.floor(math.log10((high - low) / 10))
    return sorted({round(round((low + part * (high - low)) / unit) * unit, 10) for part in THRESHOLDS})


def common_stem(names: Sequence[str]) -> str:
    """What the names of several seeds have in common; the whole name of a single run.

    >>> common_stem(["cart-seed0", "cart-seed1"]), common_stem(["lr3-10", "lr3-11"]), common_stem(["pong-v4"])
    ('cart', 'lr3', 'pong-v4')
    """
    if len(names) == 1:
        return names[0]
    letters = zip(*(MADE_UP_NAME.sub("", name) for name in names), strict=False)
    shared = itertools.takewhile(lambda column: len(set(column)) == 1, letters)
    return SEED_AT_END.sub("", "".join(column[0] for column in shared))


def setting_words(value: Any) -> str:
    """A setting's value as it is typed.

    >>> setting_words((16, 32)), setting_words(0.5)
    ('16 32', '0.5')
    """
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def speedups(courses: Sequence[Course]) -> list[Speed]:
    """Speed by number of workers, one series for all runs that otherwise differ only in their seed."""
    series = _group(courses, (*BESIDE_THE_METHOD, "workers"))
    labels = label_groups(series, differing_settings(series, ("workers",)))
    found = []
    for label, group in zip(labels, series, strict=True):
        speeds: dict[int, list[float]] = {}
        for course in group:
            speeds.setdefault(int(course.settings["workers"]), []).append(course.steps_per_second)
        if len(speeds) < 2:
            continue
        fewest = float(np.median(speeds[min(speeds)]))
        for workers, values in sorted(speeds.items()):
            middle = float(np.median(values))
            found.append(Speed(label, workers, len(values), middle, middle / fewest))
    if not found:
        raise UsageError("--speedup needs runs that differ in their number of workers, and otherwise only in the seed.")
    return found
