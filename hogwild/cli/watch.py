"""`hogwild watch [RUN]`"""

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hogwild.cli.arguments import RunName, parse
from hogwild.errors import HogwildError, UsageError

if TYPE_CHECKING:
    from hogwild.runs.folder import RunFolder
    from hogwild.watching.scene import Scene
    from hogwild.watching.spectator import SpectatorView
    from hogwild.watching.terminal import Terminal
    from hogwild.watching.worker_view import WorkerView

    View = WorkerView | SpectatorView

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
FRAMES = 30.0  # a second, at most: terminals are not faster
KEYS = "space pause · + − speed · w next worker · s spectator · q quit"


@dataclass(frozen=True)
class Watch:
    """Watch agents play, in the terminal. Start and stop it at any time: training does not notice.

    Keys: space pauses, + and - change the speed, w goes to the next worker, s to the spectator, q quits.
    """

    run: RunName = ""
    """Name or path of a run, or 'latest'; if none is named, the newest one that is training now."""
    worker: tuple[int, ...] = ()
    """Show what these workers are playing, side by side, as their networks receive it."""
    spectator: bool = False
    """Show a game of its own in full colour, played with the newest weights."""
    graphics: Literal["auto", "kitty", "sixel", "blocks"] = "auto"
    """How to draw: what the terminal knows best, or this."""
    seconds: float = 0.0
    """Stop after so many seconds (0: when q is pressed)."""
    runs: str = "runs"
    """Folder that holds all runs."""


def main(arguments: list[str]) -> int:
    """Watch."""
    given = parse(Watch, "watch", arguments)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "hogwild watch draws in a terminal, and this is none. A film: hogwild eval RUN --video game.mp4"
        )
    folder = find(given)
    import torch

    from hogwild.watching.terminal import Terminal

    torch.set_num_threads(1)  # the cores belong to the training
    terminal = Terminal()
    show = Show(given, folder, terminal)
    with terminal.taken():
        if given.graphics != "auto":
            terminal.graphics = given.graphics
        show.run()
    return 0


def find(given: Watch) -> "RunFolder":
    """The run to watch."""
    from hogwild.runs.find import find_run, list_runs

    if given.run:
        return find_run(given.run, given.runs)
    live = [folder for folder in list_runs(given.runs) if folder.is_live()]
    if not live:
        raise UsageError(f"No run in '{given.runs}' is training now. An earlier one: hogwild watch latest")
    return max(live, key=lambda folder: folder.config.stat().st_mtime)


class Show:
    """The loop of a viewer: keys, views, screen."""

    def __init__(self, given: Watch, folder: "RunFolder", terminal: "Terminal") -> None:
        from hogwild.resolve import read_settings
        from hogwild.runs.folder import read_json

        self.given, self.folder, self.terminal = given, folder, terminal
        at_work = [worker for worker in read_json(folder.status).get("workers", []) if worker["role"] == "worker"]
        planned = range(max(1, read_settings(folder.config).execution.workers))
        self.ranks = [worker["rank"] for worker in at_work] or list(planned)  # with gaps where machines were lost
        wrong = [rank for rank in given.worker if rank not in self.ranks]
        if wrong:
            raise UsageError(f"--worker {wrong[0]}: the run has workers {self.ranks[0]} to {self.ranks[-1]}.")
        if given.worker and not folder.is_live():
            raise UsageError(f"Run '{folder.path}' is not training now; --spectator plays with its last weights.")
        self.speed, self.paused, self.over, self.trouble = 2, False, False, ""
        self.views = self.choose()

    def choose(self) -> "list[View]":
        """The views that were asked for; workers if there are any at work."""
        if not self.folder.is_live():
            return [self.spectator()]
        workers = self.given.worker or (() if self.given.spectator else (self.ranks[0],))
        return [self.worker(rank) for rank in workers] + ([self.spectator()] if self.given.spectator else [])

    def worker(self, rank: int) -> "View":
        """The view of one worker."""
        from hogwild.watching.worker_view import make_worker_view

        return make_worker_view(self.folder, rank)

    def spectator(self) -> "View":
        """A game of its own."""
        from hogwild.watching.spectator import SpectatorView, newest_agent

        return SpectatorView(self.folder, newest_agent(self.folder))

    def run(self) -> None:
        """Show scenes until somebody has seen enough."""
        from hogwild.watching.layout import draw
        from hogwild.watching.terminal import BEGIN, END

        scenes: list[Scene | None] = []
        started, size = time.monotonic(), self.terminal.size
        while not self.over:
            begun = time.monotonic()
            if self.given.seconds and begun - started > self.given.seconds:
                return
            if not self.paused:
                found = [view.look(self.steps(view)) for view in self.views]
                kept = scenes if len(scenes) == len(found) else [None] * len(found)
                scenes = [new or old for new, old in zip(found, kept, strict=True)]
            clear = "\x1b[2J" if self.terminal.size != size else ""
            size = self.terminal.size
            screen = draw(scenes, size, self.terminal.graphics, self.terminal.cell, self.status())
            self.terminal.write(BEGIN + clear + screen + END)
            pause = 1 / min(FRAMES, self.views[0].steps_per_second * SPEEDS[self.speed])
            self.press(self.terminal.keys(pause - (time.monotonic() - begun)))

    def steps(self, view: "View") -> int:
        """Steps for one picture: more than one where pictures do not come fast enough; of a worker 0, all there are."""
        from hogwild.watching.worker_view import WorkerView

        if isinstance(view, WorkerView) and SPEEDS[self.speed] >= 1:
            return 0
        return max(1, round(view.steps_per_second * SPEEDS[self.speed] / FRAMES))

    def go_to_spectator(self) -> None:
        """Show a game of its own; where that cannot be, say so and stay."""
        try:
            self.views, self.trouble = [self.spectator()], ""
        except HogwildError as error:
            self.trouble = f"{error} · "

    def status(self) -> str:
        """The last line."""
        from hogwild.runs.find import summarise

        summary = summarise(self.folder)
        mean = summary["return_mean"]
        shown = "" if mean is None else f" · mean return {mean:.2f}"
        speed = "paused" if self.paused else f"{SPEEDS[self.speed]:g}×"
        where = f"{self.trouble}{self.folder.name}: {summary['state']}, {summary['steps']:,} steps"
        return f"{where}{shown} · {speed} · {KEYS}"

    def press(self, keys: str) -> None:
        """Do what the keys say."""
        for key in keys:
            if key in "qQ\x03\x04":
                self.over = True
            elif key == " ":
                self.paused = not self.paused
            elif key in "+=":
                self.speed = min(self.speed + 1, len(SPEEDS) - 1)
            elif key in "-_":
                self.speed = max(self.speed - 1, 0)
            elif key in "wW" and self.folder.is_live():
                now = getattr(self.views[0], "rank", -1)
                self.views = [self.worker(next((rank for rank in self.ranks if rank > now), self.ranks[0]))]
            elif key in "sS":
                self.go_to_spectator()
            else:
                continue
            self.terminal.write("\x1b[2J")
