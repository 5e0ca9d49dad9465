"""What workers tell the coordinator: sums that can be added up, and the games that ended."""

import bisect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from hogwild.faults.events import Event

LAG_BUCKETS = (0, 1, 2, 4, 8, 16, 32)  # largest lag of each; what is larger comes last
LAG_NAMES = ("0", "1", "2", "3-4", "5-8", "9-16", "17-32", "more")


def lag_bucket(lag: int) -> int:
    """Which bucket of the histogram a lag falls into.

    >>> [lag_bucket(lag) for lag in (0, 1, 3, 4, 100)]
    [0, 1, 3, 3, 7]
    """
    return bisect.bisect_left(LAG_BUCKETS, lag)


@dataclass(frozen=True)
class Episode:
    """One whole game: its raw score, its length, and when it ended."""

    episode_return: float
    length: int  # steps
    step: int  # of all environments together, when it was reported
    worker: int
    seconds: float  # of training, when it was reported


class Receipt(NamedTuple):
    """What there is to report of a contribution."""

    metrics: Mapping[str, float] = MappingProxyType({})
    lags: tuple[int, ...] = ()  # of each rollout in it, if it was applied
    ages: tuple[float, ...] = ()  # seconds since the weights that played it were pulled


@dataclass
class Report:
    """Mergeable statistics of one or several rollouts of one worker."""

    worker: int
    steps: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    lags: dict[int, int] = field(default_factory=dict)  # applied rollouts by the bucket of their lag
    episodes: list[tuple[float, int]] = field(default_factory=list)  # raw return, length
    events: list[Event] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)  # for the user, in words

    def take(self, metrics: Mapping[str, float]) -> None:
        """Take in what one update or one rollout reports; values that are not numbers are left out.

        >>> report = Report(worker=0)
        >>> report.take({"loss/value": 1.0, "value/mean": math.nan})
        >>> report.sums
        {'loss/value': 1.0}
        """
        for name, value in metrics.items():
            if not math.isnan(value):
                self.sums[name] = self.sums.get(name, 0.0) + value
                self.counts[name] = self.counts.get(name, 0) + 1
                self.largest[name] = max(self.largest.get(name, -math.inf), value)

    def receive(self, receipt: Receipt) -> None:
        """Take in what became of a contribution."""
        self.take(receipt.metrics)
        for lag, age in zip(receipt.lags, receipt.ages, strict=True):
            self.take({"async/lag": lag, "async/age": age})
            bucket = lag_bucket(lag)
            self.lags[bucket] = self.lags.get(bucket, 0) + 1

    def add(self, other: "Report") -> None:
        """Take in another report.

        >>> report, other = Report(0, steps=5), Report(0, steps=5)
        >>> report.take({"loss/value": 1.0})
        >>> other.take({"loss/value": 3.0})
        >>> report.add(other)
        >>> report.mean("loss/value"), report.steps
        (2.0, 10)
        """
        self.steps += other.steps
        for name, value in other.sums.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
            self.counts[name] = self.counts.get(name, 0) + other.counts[name]
            self.largest[name] = max(self.largest.get(name, -math.inf), other.largest[name])
        for bucket, count in other.lags.items():
            self.lags[bucket] = self.lags.get(bucket, 0) + count
        self.episodes.extend(other.episodes)
        self.events.extend(other.events)

    def mean(self, name: str) -> float:
        """Mean of a metric over the rollouts, or not-a-number if nothing was reported."""
        count = self.counts.get(name, 0)
        return self.sums[name] / count if count else math.nan
