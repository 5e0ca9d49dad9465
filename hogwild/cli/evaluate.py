"""`hogwild eval RUN`"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hogwild.cli.arguments import RunName, parse
from hogwild.errors import UsageError

if TYPE_CHECKING:
    from hogwild.agent import Agent


@dataclass(frozen=True)
class Evaluate:
    """Play whole games with a trained agent, at its own preprocessing, and report raw scores."""

    run: RunName
    """Name or path of a run, or 'latest', the one that trained last."""
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
    if given.video and not given.video.lower().endswith(".mp4"):
        raise UsageError(f"--video {given.video}: the name of an MP4 file, such as game.mp4.")
    from hogwild.api import load
    from hogwild.evaluation import evaluate
    from hogwild.runs.evaluations import note_evaluation
    from hogwild.runs.folder import RunFolder

    agent = load(given.run, checkpoint=given.checkpoint, runs=given.runs)
    if given.video:
        from hogwild.video import require_pictures

        require_pictures(agent)
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
    figures = {
        "run": str(agent.source.parent.parent),
        "checkpoint": agent.source.name,
        "steps": agent.steps,
        **result.summary(),
    }
    note_evaluation(RunFolder(agent.source.parent.parent), {k: v for k, v in figures.items() if k != "run"})
    if not given.json:
        _print(figures)
        if not agent.steps:
            print("hogwild: this agent has not learned anything yet (0 steps).", file=sys.stderr)
    if given.video:
        figures["video"] = _film(agent, given)
    print(json.dumps(figures))
    return 0


def _film(agent: "Agent", given: Evaluate) -> dict[str, object]:
    from hogwild.video import film

    score, frames = film(agent, Path(given.video), greedy=given.greedy, epsilon=given.epsilon, seed=given.seed)
    if not given.json:
        print(f"filmed a game of {score:g} to {given.video} ({frames:,} frames)")
    return {"file": given.video, "return": score, "frames": frames}


def _print(figures: "dict[str, object]") -> None:
    print(f"{figures['run']} at step {figures['steps']:,} ({figures['checkpoint']})")
    interval = figures["interval_95"]
    spread = "" if interval is None else f" ± {interval:.2f} (95 %)"
    print(
        f"return {figures['mean']:.2f}{spread}, median {figures['median']:.6g}, "
        f"best {figures['best']:.6g}, worst {figures['worst']:.6g}; {figures['episodes']} whole games, "
        f"{figures['actions']}, {figures['length_mean']:.0f} steps each"
    )


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
