"""Reference runs: how training went with our own settings, so that a run can say where it stands among them and how
long it will take. Their curves are part of the package; `benchmarks/solve.py` makes them."""

import dataclasses
import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from hogwild.config.settings import Settings
from hogwild.resolve import Resolved

STARTED = 0.1  # of the way from the first return to the goal: before that, returns say nothing about the pace
SLOWEST, FASTEST = 4.0, 0.25  # a pace beyond these is chance, not pace


@dataclass(frozen=True)
class Reference:
    """The learning curve of reference runs: the median over their seeds, and the range that they span."""

    steps: tuple[float, ...]
    low: tuple[float, ...]  # mean returns of the last 100 games
    middle: tuple[float, ...]
    high: tuple[float, ...]
    seeds: int

    def at(self, steps: float) -> tuple[float, float, float]:
        """Low, median and high mean return after so many steps."""
        low, middle, high = (
            float(np.interp(steps, self.steps, values)) for values in (self.low, self.middle, self.high)
        )
        return low, middle, high

    def steps_to(self, wanted: float) -> float:
        """Steps after which the median first had this mean return; infinite if it never had."""
        for number, value in enumerate(self.middle):
            if value >= wanted:
                return self.steps[number]
        return math.inf

    def steps_left(self, steps: int, mean: float, wanted: float) -> float:
        """Steps until the wanted return, if the run goes on as the reference did, at its own pace."""
        start = self.middle[0]
        here = self.steps_to(mean)
        pace = 1.0
        if mean > start + STARTED * (wanted - start) and 0 < here < math.inf:
            pace = min(SLOWEST, max(FASTEST, steps / here))
        else:
            here = min(float(steps), self.steps_to(start + STARTED * (wanted - start)))
        return max(0.0, self.steps_to(wanted) - here) * pace


def find_reference(resolved: Resolved) -> Reference | None:
    """The reference for a game, if there is one that was trained in the same way."""
    name = f"{resolved.plan.game}-{resolved.settings.objective.objective}.json"
    file = resources.files("hogwild.config").joinpath("references", name)
    if not file.is_file():
        return None
    content = json.loads(file.read_text(encoding="utf-8"))
    # Settings that are newer than the reference had their defaults then.
    if describe_agent(Settings()) | content["agent"] != describe_agent(resolved.settings):
        return None
    columns = {name: tuple(content[name]) for name in ("steps", "low", "middle", "high")}
    return Reference(**columns, seeds=content["seeds"])


def describe_agent(settings: Settings) -> dict[str, Any]:
    """What decides how an agent learns by steps, as JSON has it.

    Left out is what hangs on the machine and hardly matters: how many environments and workers, and the precision.

    >>> describe_agent(Settings())["encoder"]
    'auto'
    """
    groups = (settings.environment, settings.policy, settings.objective, settings.optimizer)
    flat = {name: value for group in groups for name, value in dataclasses.asdict(group).items()}
    kept = {name: value for name, value in flat.items() if name not in ("envs", "precision")}
    return json.loads(json.dumps(kept))  # type: ignore[no-any-return]


def make_reference(curves: Sequence[Sequence[tuple[float, float]]], points: int = 60) -> dict[str, Any]:
    """A reference from the curves (steps, mean return) of several seeds; what a run keeps to after its end is its last.

    >>> make_reference([[(0, 0.0), (10, 1.0)], [(0, 0.0), (20, 2.0)]], points=3)["middle"]
    [0.0, 1.0, 1.5]
    """
    longest = max(curve[-1][0] for curve in curves)
    grid = [longest * number / (points - 1) for number in range(points)]
    rows = [np.interp(grid, [step for step, _ in curve], [value for _, value in curve]) for curve in curves]
    columns = list(zip(*rows, strict=True))
    return {
        "seeds": len(curves),
        "steps": [round(step) for step in grid],
        "low": [round(float(min(column)), 2) for column in columns],
        "middle": [round(float(statistics.median(column)), 2) for column in columns],
        "high": [round(float(max(column)), 2) for column in columns],
    }
