"""Where a training stands: counts, recent returns, speeds, and the row of metrics that sums them up."""

import math
import time
from collections import deque
from typing import Any

from hogwild.faults.events import LOST
from hogwild.report import LAG_NAMES, Episode, Report

RECENT = 100  # episodes


class Progress:
    """Gathers the workers' reports."""

    def __init__(self, frames_per_step: float) -> None:
        self.frames_per_step = frames_per_step
        self.steps = 0
        self.updates = 0
        self.episodes = 0
        self.lost = 0  # episodes, to faults of their environments
        self.best = -math.inf
        self.recent: deque[Episode] = deque(maxlen=RECENT)
        self.seconds_before = 0.0  # of this run's earlier sessions
        self.started: float | None = None  # the clock starts with the first report: building is not training
        self.interval = Report(-1)
        self.row_steps = self.row_updates = 0
        self.row_time = 0.0

    @property
    def seconds(self) -> float:
        """Seconds of training, earlier sessions included."""
        return self.seconds_before + (time.monotonic() - self.started if self.started is not None else 0.0)

    @property
    def return_mean(self) -> float:
        """Mean raw return of the last 100 games."""
        return sum(e.episode_return for e in self.recent) / len(self.recent) if self.recent else math.nan

    def start_clock(self) -> None:
        """Training begins now."""
        if self.started is None:
            self.started = time.monotonic()
            self.row_time = self.seconds
            self.row_steps, self.row_updates = self.steps, self.updates

    def take(self, report: Report, steps: int, updates: int) -> list[Episode]:
        """Take in a report; `steps` and `updates` are the exact shared counts. Answers the games that ended."""
        self.steps, self.updates = steps, updates
        if report.steps or report.sums:  # not if it only tells what happened
            self.start_clock()
        finished = [Episode(value, length, steps, report.worker, self.seconds) for value, length in report.episodes]
        self.episodes += len(finished)
        self.recent.extend(finished)
        self.best = max([self.best, *(e.episode_return for e in finished)])
        self.lost += sum(event.kind == LOST for event in report.events)
        report.episodes = []
        self.interval.add(report)
        return finished

    def row(self) -> dict[str, float]:
        """Metrics since the last row, and a new interval; what is not known yet is left out."""
        seconds, interval = self.seconds, self.interval
        passed = max(seconds - self.row_time, 1e-9)
        row = {
            "progress/steps": self.steps,
            "progress/frames": self.steps * self.frames_per_step,
            "progress/updates": self.updates,
            "progress/seconds": seconds,
            "speed/steps_per_second": (self.steps - self.row_steps) / passed,
            "speed/updates_per_second": (self.updates - self.row_updates) / passed,
            "episode/count": self.episodes,
        }
        if self.lost:
            row["episode/lost"] = self.lost
        if self.recent:
            row["episode/return_mean"] = self.return_mean
            row["episode/return_best"] = self.best
            row["episode/length_mean"] = sum(e.length for e in self.recent) / len(self.recent)
        times = {k: v for k, v in interval.sums.items() if k.startswith("time/")}
        total = sum(times.values())
        row |= {name: value / total for name, value in times.items() if total}
        row |= {name: interval.mean(name) for name in interval.sums if name not in times}
        row |= {
            f"{name}_max": interval.largest[name] for name in ("async/lag", "async/age") if name in interval.largest
        }
        applied = sum(interval.lags.values())
        row |= {f"async/lag_share/{LAG_NAMES[bucket]}": n / applied for bucket, n in sorted(interval.lags.items())}
        self.interval = Report(-1)
        self.row_steps, self.row_updates, self.row_time = self.steps, self.updates, seconds
        return row

    def state(self) -> dict[str, Any]:
        """What a resumed run has to remember."""
        return {
            "steps": self.steps,
            "updates": self.updates,
            "episodes": self.episodes,
            "lost": self.lost,
            "best": self.best,
            "seconds": self.seconds,
            "recent": [[e.episode_return, e.length, e.step, e.worker, e.seconds] for e in self.recent],
        }

    def load(self, state: dict[str, Any]) -> None:
        """Go on from where a checkpoint stood."""
        self.steps, self.updates, self.episodes = (int(state[name]) for name in ("steps", "updates", "episodes"))
        self.best, self.seconds_before = float(state["best"]), float(state["seconds"])
        self.lost = int(state.get("lost", 0))  # older checkpoints did not count them
        for score, length, step, worker, seconds in state["recent"]:
            self.recent.append(Episode(float(score), int(length), int(step), int(worker), float(seconds)))
