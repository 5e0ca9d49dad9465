"""`hogwild eval RUN`"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tyro

from hogwild.cli.arguments import parse
from hogwild.errors import UsageError


@dataclass(frozen=True)
class Evaluate:
    """Play whole games with a trained agent, at its own preprocessing, and report raw scores."""

    run: tyro.conf.Positional[str]
    """Name or path of a run, or 'latest'."""
    episodes: int = 100
    """Whole games to play."""
    greedy: bool = False
    """Always take the most probable action instead of sampling."""
    epsilon: float = 0.0
    """Take the most probable action, but a random one with this probability."""
    checkpoint: str = "newest"
    """Which checkpoint: newest, best, or the number of a step."""
    seed: int = 0
    """Seed of the games."""
    video: str = ""
    """Film one more game to this MP4 file."""
    runs: str = "runs"
    """Folder that holds all runs."""
    json: bool = False
    """Print nothing but one line of JSON."""


def main(arguments: list[str]) -> int:
    """Evaluate."""
    given = parse(Evaluate, "eval", arguments)
    if given.episodes < 1:
        raise UsageError(f"--episodes {given.episodes}: must be at least 1.")
    if not 0 <= given.epsilon <= 1:
        raise UsageError(f"--epsilon {given.epsilon:g}: must be between 0 and 1.")
    if given.greedy and given.epsilon:
        raise UsageError("--greedy and --epsilon: one or the other; --epsilon is greedy but for its random share.")
    from hogwild.api import load
    from hogwild.evaluation import evaluate

    agent = load(given.run, checkpoint=given.checkpoint, runs=given.runs)
    shown = not given.json and sys.stderr.isatty()
    with _Bar(given.episodes, shown) as advance:
        result = evaluate(
            agent,
            given.episodes,
            greedy=given.greedy,
            epsilon=given.epsilon,
            seed=given.seed,
            on_episode=lambda count, score: advance(count, score),
        )
    summary = result.summary()
    figures = {"run": given.run, "checkpoint": agent.source.name, "steps": agent.steps, **summary}
    if given.video:
        from hogwild.video import film

        score, frames = film(agent, Path(given.video), greedy=given.greedy, epsilon=given.epsilon, seed=given.seed)
        figures["video"] = {"file": given.video, "return": score, "frames": frames}
    if not given.json:
        _print(figures)
    print(json.dumps(figures))
    return 0


def _print(figures: "dict[str, object]") -> None:
    print(f"{figures['run']} at step {figures['steps']:,} ({figures['checkpoint']})")
    print(
        f"return {figures['mean']:.2f} ± {figures['interval_95']:.2f} (95 %), median {figures['median']:g}, "
        f"best {figures['best']:g}, worst {figures['worst']:g}; {figures['episodes']} whole games, "
        f"{figures['actions']}, {figures['length_mean']:.0f} steps each"
    )
    video = figures.get("video")
    if isinstance(video, dict):
        print(f"filmed a game of {video['return']:g} to {video['file']} ({video['frames']:,} frames)")


class _Bar:
    """A progress bar over episodes, if there is a terminal to show it."""

    def __init__(self, episodes: int, shown: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown)
        self.task = self.bar.add_task("building environments", total=episodes)
        self.total = 0.0

    def __enter__(self) -> Callable[[int, float], None]:
        self.bar.start()
        return self.advance

    def advance(self, count: int, score: float) -> None:
        """One more game is over."""
        self.total += score
        self.bar.update(self.task, completed=count, description=f"mean return {self.total / count:.2f}")

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
