"""Comparing methods by a few seeds each: learning curves, returns at a common budget, and what the seeds do not show.

Runs that differ in nothing but their seed are one method. Everything here computes; nothing prints or draws.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hogwild.comparison_runs import (
    AXES,
    Course,
    at_words,
    differing_settings,
    find_runs,
    group_by_method,
    label_groups,
    normalise,
    read_course,
    sensible_scores,
)
from hogwild.config.suggest import unknown
from hogwild.errors import UsageError
from hogwild.maths.comparison import (
    RESAMPLES,
    Array,
    chance_of_such_a_lead,
    improvement_interval,
    interquartile_mean,
    mean_improvement,
    stratified_interval,
)

GRID_POINTS = 150
SIGNIFICANT = 0.05
FEWEST_FOR_QUARTERS = 4
FEWEST_FOR_BOOTSTRAP = 3
LINE_RESAMPLES = 1000  # for each point of a band, which is looked at and not quoted
NO_BAND, EXTREMES, BOOTSTRAP = "none", "lowest to highest", "bootstrap 95 %"


@dataclass(frozen=True)
class Line:
    """The learning curve of a method: a middle, and how far its seeds spread."""

    x: list[float]
    middle: list[float]
    low: list[float]
    high: list[float]
    band: str


@dataclass(frozen=True)
class Reached:
    """When a method reached a return: the median of all its seeds, None if half of them never did."""

    score: float
    seeds: int
    steps: float | None
    minutes: float | None


@dataclass(frozen=True)
class Method:
    """Runs that differ only in their seed, and what they came to."""

    label: str
    settings: dict[str, Any]
    courses: list[Course]
    statistic: str
    values: list[float]
    value: float
    interval: tuple[float, float] | None
    steps_per_second: float
    reached: list[Reached]
    line: Line


@dataclass(frozen=True)
class Pair:
    """Two methods beside each other."""

    ours: str
    theirs: str
    probability: float | None
    interval: tuple[float, float] | None
    chance: float | None
    better: str | None
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """All that is known of how some methods compare."""

    by: str
    at: float
    score: str
    environments: list[str]
    methods: list[Method]
    pairs: list[Pair]
    notes: list[str]


def compare(
    runs: Iterable[str | Path],
    *,
    by: str = "steps",
    at: float | None = None,
    reach: Sequence[float] = (),
    folder: str = "runs",
) -> Comparison:
    """Compare runs, given by name, path or pattern, at a budget that all of them have used up.

    >>> import tempfile, hogwild
    >>> few = {"steps": 400, "engine": "inline", "workers": 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for seed in (0, 1):
    ...         run = hogwild.train("CartPole-v1", seed=seed, name=f"cart-seed{seed}", runs=folder, **few)
    ...     compared = compare(["cart*"], folder=folder)
    >>> [(method.label, len(method.courses)) for method in compared.methods]
    [('cart', 2)]
    """
    courses = [read_course(found) for found in find_runs(map(str, runs), folder)]
    return compare_courses(courses, by=by, at=at, reach=reach)


def compare_courses(
    courses: Sequence[Course], *, by: str = "steps", at: float | None = None, reach: Sequence[float] = ()
) -> Comparison:
    """The comparison of runs that have been read."""
    if by not in AXES:
        raise unknown("axis", by, AXES)
    if not courses:
        raise UsageError("Compare which runs?")
    groups = group_by_method(courses)
    environments = list(dict.fromkeys(c.env for c in courses))
    is_pooled = any(len({c.env for c in group}) > 1 for group in groups)
    if is_pooled:
        groups = normalise(groups)
    budget = _budget(courses, by, at)
    settings = differing_settings(groups)
    scores = sorted(reach) or sensible_scores(groups, by, budget)
    methods = [
        _method(label, own, group, by, budget, scores)
        for label, own, group in zip(label_groups(groups, settings), settings, groups, strict=True)
    ]
    pairs = [_pair(ours, theirs, by, budget) for ours, theirs in itertools.combinations(methods, 2)]
    notes = _notes(methods, pairs, by, budget)
    if is_pooled:
        notes.insert(0, "Returns are normalised: 0 and 1 are the lowest and highest of all runs in each environment.")
    return Comparison(by, budget, "normalised return" if is_pooled else "return", environments, methods, pairs, notes)


def _budget(courses: Sequence[Course], by: str, at: float | None) -> float:
    shortest = min(courses, key=lambda c: float(c.axes[by][-1]))
    end = float(shortest.axes[by][-1])
    if at is None:
        return end
    if not 0 < at <= end:
        raise UsageError(
            f"--at {at:g}: must lie above 0 and at most at {at_words(end, by)}, where '{shortest.name}' ends."
        )
    return at


def _strata(courses: Sequence[Course], x: float, by: str) -> list[Array]:
    """Scores of a method at a place, environment by environment."""
    environments = sorted({c.env for c in courses})
    return [np.array([float(c.at(x, by)) for c in courses if c.env == env]) for env in environments]


def _band(strata: Sequence[Array]) -> str:
    if all(len(stratum) == 1 for stratum in strata):
        return NO_BAND
    is_tiny = len(strata) == 1 and len(strata[0]) < FEWEST_FOR_BOOTSTRAP  # nothing much to draw from
    return EXTREMES if is_tiny else BOOTSTRAP


def _spread(strata: Sequence[Array], resamples: int = RESAMPLES) -> tuple[float, float] | None:
    band = _band(strata)
    if band == BOOTSTRAP:
        return stratified_interval(strata, resamples=resamples)
    return None if band == NO_BAND else (float(strata[0].min()), float(strata[0].max()))


def _method(
    label: str, settings: dict[str, Any], courses: list[Course], by: str, budget: float, scores: Sequence[float]
) -> Method:
    strata = _strata(courses, budget, by)
    return Method(
        label=label,
        settings=settings,
        courses=courses,
        statistic="interquartile mean" if len(courses) >= FEWEST_FOR_QUARTERS else "mean",
        values=[float(c.at(budget, by)) for c in courses],
        value=float(interquartile_mean(np.concatenate(strata))),
        interval=_spread(strata),
        steps_per_second=float(np.mean([c.steps_per_second for c in courses])),
        reached=[_reached(courses, score) for score in scores],
        line=_line(courses, by),
    )


def _reached(courses: Sequence[Course], score: float) -> Reached:
    steps, minutes = ([c.first_at(score, by) for c in courses] for by in ("steps", "minutes"))
    # A seed that never came there counts as infinitely late: leaving it out would flatter the method.
    middles = (float(np.median(values)) for values in (steps, minutes))
    return Reached(score, sum(map(math.isfinite, steps)), *(m if math.isfinite(m) else None for m in middles))


def _line(courses: Sequence[Course], by: str) -> Line:
    begin, end = max(float(c.axes[by][0]) for c in courses), min(float(c.axes[by][-1]) for c in courses)
    grid = np.linspace(begin, end, GRID_POINTS) if begin < end else np.array([end])
    middle, low, high = [], [], []
    for x in grid:
        strata = _strata(courses, float(x), by)
        middle.append(float(interquartile_mean(np.concatenate(strata))))
        bounds = _spread(strata, resamples=LINE_RESAMPLES) or (middle[-1], middle[-1])
        low.append(bounds[0])
        high.append(bounds[1])
    return Line(grid.tolist(), middle, low, high, _band(_strata(courses, float(grid[-1]), by)))


def _seeds(courses: Sequence[Course]) -> int:
    """Different seeds in the environment that has the fewest; a run made twice is no second seed."""
    return min(len({c.settings["seed"] for c in courses if c.env == env}) for env in {c.env for c in courses})


def _pair(ours: Method, theirs: Method, by: str, budget: float) -> Pair:
    """Who is better, if the seeds can tell: by the bootstrap interval and by the permutation test."""
    names = f"{ours.label} and {theirs.label}"
    if {c.env for c in ours.courses} != {c.env for c in theirs.courses}:
        return Pair(ours.label, theirs.label, None, None, None, None, f"{names}: different environments: no verdict")
    left, right = (_strata(method.courses, budget, by) for method in (ours, theirs))
    probability = float(mean_improvement(left, right))
    seeds = [_seeds(method.courses) for method in (ours, theirs)]
    if 1 in seeds:
        whose = "one seed each" if seeds == [1, 1] else f"one seed of {(ours if seeds[0] == 1 else theirs).label}"
        return Pair(ours.label, theirs.label, probability, None, None, None, f"{names}: {whose}: no verdict")
    low, high = improvement_interval(left, right)
    chance = chance_of_such_a_lead(left, right)
    is_apart = not low <= 0.5 <= high
    better = None
    ahead, behind = (ours.label, theirs.label) if probability >= 0.5 else (theirs.label, ours.label)
    figures = f"P = {probability:.2f}, interval {low:.2f}–{high:.2f}"
    if ahead == theirs.label:
        figures = f"P = {1 - probability:.2f}, interval {1 - high:.2f}–{1 - low:.2f}"
    if is_apart and chance <= SIGNIFICANT:
        better = ahead
        verdict = f"{ahead} is better than {behind} at {at_words(budget, by)} ({figures})"
    else:
        if is_apart:
            by_chance = f"with so few seeds chance alone does this in {100 * chance:.2g} % of cases"
            figures = f"{ahead} leads, {figures}, but {by_chance}"
        many = f"{seeds[0]} seeds each" if seeds[0] == seeds[1] else f"{seeds[0]} and {seeds[1]} seeds"
        verdict = f"{names} are not distinguishable with {many} at {at_words(budget, by)} ({figures})"
    return Pair(ours.label, theirs.label, probability, (low, high), chance, better, verdict)


def _notes(methods: Sequence[Method], pairs: Sequence[Pair], by: str, budget: float) -> list[str]:
    """What a reader must know to read the figures right."""
    courses = [course for method in methods for course in method.courses]
    copied = [m for m in methods if len({(c.env, c.settings["seed"]) for c in m.courses}) < len(m.courses)]
    tested = sum(pair.chance is not None for pair in pairs)
    cases = {
        "Fewer than four seeds: the plain mean, not the interquartile mean": [
            m.label for m in methods if m.statistic == "mean"
        ],
        "Two seeds: the interval is the lowest and the highest": [m.label for m in methods if m.line.band == EXTREMES],
        "Runs with the same seed, perhaps copies of each other": [m.label for m in copied],
        f"First return after {at_words(budget, by)}, taken as it is": [
            c.name for c in courses if c.axes[by][0] > budget
        ],
        "Still training": [c.name for c in courses if c.summary["state"] == "training"],
    }
    everything = ([m.label for m in methods], [c.name for c in courses])
    notes = [
        f"{case}{'' if whose in everything else ': ' + '; '.join(whose)}." for case, whose in cases.items() if whose
    ]
    if tested > 1:
        notes.append(f"{tested} pairs were tested, each at 95 %: the more pairs, the sooner one stands out by chance.")
    return notes
