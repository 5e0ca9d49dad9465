"""What workers tell the coordinator: sums that can be added up, and the games that ended."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Episode:
    """One whole game: its raw score, its length, and when it ended."""

    episode_return: float
    length: int  # steps
    step: int  # of all environments together, when it was reported
    worker: int
    seconds: float  # of training, when it was reported


@dataclass
class Report:
    """Mergeable statistics of one or several rollouts of one worker."""

    worker: int
    steps: int = 0
    updates: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    episodes: list[tuple[float, int]] = field(default_factory=list)  # raw return, length

    @classmethod
    def of_rollout(
        cls,
        worker: int,
        steps: int,
        updates: int,
        metrics: Mapping[str, float],
        episodes: Sequence[tuple[float, int]] = (),
    ) -> "Report":
        """Report of one rollout; values that are not numbers are left out."""
        known = {k: v for k, v in metrics.items() if not math.isnan(v)}
        return cls(worker, steps, updates, dict(known), dict.fromkeys(known, 1), dict(known), list(episodes))

    def add(self, other: "Report") -> None:
        """Take in another report.

        >>> report = Report.of_rollout(0, 5, 1, {"loss/value": 1.0})
        >>> report.add(Report.of_rollout(0, 5, 1, {"loss/value": 3.0}))
        >>> report.mean("loss/value"), report.steps
        (2.0, 10)
        """
        self.steps += other.steps
        self.updates += other.updates
        for name, value in other.sums.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
            self.counts[name] = self.counts.get(name, 0) + other.counts[name]
            self.largest[name] = max(self.largest.get(name, -math.inf), other.largest[name])
        self.episodes.extend(other.episodes)

    def mean(self, name: str) -> float:
        """Mean of a metric over the rollouts, or not-a-number if nothing was reported."""
        count = self.counts.get(name, 0)
        return self.sums[name] / count if count else math.nan
