"""Showing a training: a live panel in a terminal, plain lines elsewhere, or nothing."""

import sys
import time
from contextlib import suppress

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from hogwild.cli.words import Expectation, duration, program, sparkline, time_left
from hogwild.display import Display, Outcome, Silent
from hogwild.engines.engine import WorkerStatus
from hogwild.envs.make import can_be_drawn
from hogwild.errors import HogwildError
from hogwild.progress import Progress
from hogwild.resolve import Resolved
from hogwild.runs.folder import RunFolder

SECTIONS = (
    ("time/environment", "environment"),
    ("time/acting", "acting"),
    ("time/learning", "learning"),
    ("time/exchange", "exchange"),
    ("time/waiting", "waiting"),
)
LINE_SECONDS = 10.0


def make_display(quiet: bool) -> Display:
    """The display that fits where the output goes."""
    if quiet:
        return Silent()
    return LivePanel() if sys.stdout.isatty() else PlainLines()


def end_lines(outcome: Outcome, resolved: Resolved) -> list[str]:
    """What to say when a training is over."""
    film, settings = "", resolved.settings
    with suppress(HogwildError):
        if can_be_drawn(resolved.plan, settings.environment, settings.execution.env_timeout):
            film = " --video game.mp4"
    parts = [outcome.reason, f"{outcome.steps:,} steps in {duration(outcome.seconds)}"]
    if "mean return" not in outcome.reason:
        shown = outcome.return_mean
        parts.append("no game finished" if shown is None else f"mean return {shown:.2f}")
    if outcome.lost:
        parts.append(f"episodes lost to failing environments: {outcome.lost:,}")
    lines = [
        " · ".join(parts),
        f"run          {outcome.folder}",
        f"next         {program()} eval {outcome.folder}{film}",
    ]
    if outcome.signal:
        lines.append(f"go on        {program()} resume {outcome.folder}")
    return lines


class PlainLines:
    """One line every few seconds, for logs and pipes."""

    def begin(self, resolved: Resolved, folder: RunFolder, progress: Progress) -> None:
        """Print the header."""
        from hogwild.cli.train import describe

        self.resolved = resolved
        self.expectation = Expectation(resolved)
        self.printed = time.monotonic()
        for line in describe(resolved):
            print(line)
        print(
            f"run          {folder.path}" + (f", resumed at step {progress.steps:,}" if progress.steps else ""),
            flush=True,
        )
        print("building environments and loading workers …", flush=True)

    def update(self, progress: Progress, row: dict[str, float] | None, workers: list[WorkerStatus]) -> None:  # noqa: ARG002
        """Print a line if it is time."""
        if row is None or time.monotonic() - self.printed < LINE_SECONDS:
            return
        self.printed = time.monotonic()
        left = time_left(progress, self.resolved)
        parts = [
            f"{duration(progress.seconds)}" + (f" (at most {left} left)" if left else ""),
            f"steps {progress.steps:,}",
            f"{row['speed/steps_per_second']:,.0f} steps/s",
            f"return {_number(row, 'episode/return_mean')} best {_number(row, 'episode/return_best')}",
            f"entropy {_number(row, 'policy/entropy')}",
            f"value error {_number(row, 'loss/value')}",
            f"lag {_number(row, 'async/lag')}",
            f"gradient {_number(row, 'gradient/norm')}",
            self.expectation.words(progress),
        ]
        print("  ".join(filter(None, parts)), flush=True)

    def warn(self, message: str) -> None:
        """Print a warning."""
        print(f"hogwild: {message}", file=sys.stderr)

    def end(self, outcome: Outcome) -> None:
        """Print how it ended."""
        for line in end_lines(outcome, self.resolved):
            print(line, flush=True)

    def close(self) -> None:
        """Nothing to leave."""


class LivePanel:
    """A panel that is redrawn in place."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console()
        self.history: list[float] = []
        self.row: dict[str, float] = {}
        self.live: Live | None = None

    def begin(self, resolved: Resolved, folder: RunFolder, progress: Progress) -> None:
        """Print the header and start the panel."""
        from hogwild.cli.train import describe

        self.resolved, self.folder, self.expectation = resolved, folder, Expectation(resolved)
        for line in describe(resolved):
            self.console.print(line, highlight=False)
        self.live = Live(self._starting(progress), console=self.console, refresh_per_second=4, transient=False)
        self.live.start()

    def _starting(self, progress: Progress) -> RenderableType:
        resumed = f", resumed at step {progress.steps:,}" if progress.steps else ""
        return Text(f"building environments and loading workers{resumed} …", style="dim")

    def update(self, progress: Progress, row: dict[str, float] | None, workers: list[WorkerStatus]) -> None:
        """Redraw the panel with what is new."""
        if row is not None:
            self.row = row
            if "episode/return_mean" in row:
                self.history.append(row["episode/return_mean"])
        if progress.started is not None and self.live is not None:
            self.live.update(self.panel(progress, workers))

    def panel(self, progress: Progress, workers: list[WorkerStatus]) -> Panel:
        """The panel as it stands."""
        expected = self.expectation.words(progress)
        body = Group(
            self._counts(progress),
            Text(expected, style="dim"),
            self._figures(),
            Text(),
            self._sections(),
            self._workers(workers),
        )
        return Panel(
            body,
            title=f"[bold]hogwild[/] · {self.resolved.plan.id}",
            subtitle=str(self.folder.path),
            padding=(0, 1),
        )

    def _counts(self, progress: Progress) -> Table:
        left = time_left(progress, self.resolved)
        limit = self.resolved.settings.run.steps
        table = Table.grid(padding=(0, 3))
        table.add_row(
            f"[bold]{progress.steps:,}[/] steps" + (f" of {limit:,}" if limit else ""),
            f"{progress.steps * progress.frames_per_step:,.0f} frames",
            f"[bold green]{self.row.get('speed/steps_per_second', 0):,.0f}[/] steps/s",
            f"{duration(progress.seconds)} elapsed" + (f", {left} left at most" if left else ""),
        )
        return table

    def _figures(self) -> Table:
        row = self.row
        table = Table.grid(padding=(0, 2))
        mean, best = row.get("episode/return_mean"), row.get("episode/return_best")
        games = int(row.get("episode/count", 0))
        table.add_row(
            "return",
            f"[bold cyan]{mean:.2f}[/]" if mean is not None else "[dim]no game finished yet[/]",
            f"best {best:g}" if best is not None else "",
            f"[cyan]{sparkline(self.history)}[/]  [dim]{games:,} games[/]",
        )
        table.add_row("entropy", _number(row, "policy/entropy"), "value error", _number(row, "loss/value"))
        lag = f"{_number(row, 'async/lag')} updates, at most {_number(row, 'async/lag_max')}"
        table.add_row("lag", lag, "gradient norm", _number(row, "gradient/norm"))
        table.add_row("age", _number(row, "async/age") + " s", *self._on_the_way())
        table.add_row(
            "explained",
            _number(row, "value/explained_variance"),
            "learning rate",
            _number(row, "optimizer/learning_rate"),
        )
        return table

    def _on_the_way(self) -> tuple[str, str]:
        """Queue and losses where the exchange has them, else the wait for the lock."""
        row = self.row
        if "async/queue" not in row:
            return "wait for lock", _number(row, "async/lock_wait") + " ms"
        lost = [f"{row[f'async/{what}']:,.0f} {what}" for what in ("dropped", "discarded") if f"async/{what}" in row]
        return "queue", ", ".join([_number(row, "async/queue"), *lost])

    def _sections(self) -> Text:
        styles = ("green", "cyan", "magenta", "yellow", "red")
        text = Text()
        shares = [(label, self.row.get(name, 0.0)) for name, label in SECTIONS]
        for (_, share), style in zip(shares, styles, strict=True):
            text.append("━" * round(share * 50), style=style)
        text.append("\n")
        for (label, share), style in zip(shares, styles, strict=True):
            text.append(f"{label} {share:.0%}   ", style=style)
        return text

    def _workers(self, workers: list[WorkerStatus]) -> Text:
        colours = {"playing": "green", "serving": "cyan", "starting": "yellow", "stopped": "dim"}
        text = Text("workers  ")
        for status in workers[:32]:
            label = f"{status.rank} {status.state} {status.steps:,}   "
            if status.role != "worker":
                label = f"{status.role} {status.state}   "
            text.append(label, style=colours.get(status.state, "red"))
        if len(workers) > 32:
            text.append(f"and {len(workers) - 32} more")
        return text

    def warn(self, message: str) -> None:
        """Print a warning above the panel."""
        self.console.print(f"[yellow]{message}[/]", highlight=False)

    def end(self, outcome: Outcome) -> None:
        """Stop redrawing and say how it ended."""
        self.close()
        for line in end_lines(outcome, self.resolved):
            self.console.print(line, highlight=False)

    def close(self) -> None:
        """Stop redrawing."""
        if self.live is not None:
            self.live.stop()


def _number(row: dict[str, float], name: str) -> str:
    return f"{row[name]:.4g}" if name in row else "–"
