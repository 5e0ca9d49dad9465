"""What a training shows: a live panel in a terminal, plain lines elsewhere, nothing if asked."""

import fcntl
import io
import os
import pty
import re
import shlex
import struct
import termios
import time
from pathlib import Path

import pytest
from rich.console import Console
from running import Started, environment

from hogwild.cli import display
from hogwild.cli.display import LivePanel, PlainLines, end_lines, make_display
from hogwild.cli.words import Expectation, duration, sparkline, time_left
from hogwild.display import Outcome, Silent
from hogwild.engines.engine import WorkerStatus
from hogwild.progress import Progress
from hogwild.report import Report
from hogwild.resolve import Resolved, layer, resolve
from hogwild.runs.folder import RunFolder


@pytest.fixture(scope="module")
def resolved() -> Resolved:
    return resolve(layer("CartPole-v1", steps=10_000, workers=2))


def played(steps: int = 2500, seconds: float = 50.0) -> Progress:
    progress = Progress(frames_per_step=4)
    metrics = {"policy/entropy": 0.6875, "async/lag": 1.5, "loss/value": 0.25, "gradient/norm": 3.0}
    progress.start_clock()
    report = Report(0, steps, episodes=[(20.0, 20), (30.0, 30)])
    report.take(metrics)
    progress.take(report, steps, 10)
    progress.started = time.monotonic() - seconds
    return progress


@pytest.mark.parametrize(
    ("values", "line"),
    [([], ""), ([5], "▁"), ([1, 1, 1], "▁▁▁"), ([0, 7], "▁█"), ([7, 0], "█▁"), ([-1, 0, 1], "▁▅█")],
)
def test_a_sparkline_shows_the_course_of_values(values: list[float], line: str) -> None:
    assert sparkline(values) in (line, line.replace("▅", "▄"))


def test_a_long_course_is_thinned_out_and_ends_with_the_newest_value() -> None:
    line = sparkline([0.0] * 999 + [1.0], width=30)
    assert len(line) == 30
    assert line.endswith("▁█")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0:00"), (59.9, "0:59"), (60, "1:00"), (3599, "59:59"), (3600, "1:00:00"), (90061, "25:01:01")],
)
def test_a_duration_reads_like_a_clock(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_the_time_left_is_that_of_the_rule_that_comes_first(resolved: Resolved) -> None:
    assert time_left(played(steps=2500, seconds=50), resolved) in ("2:30", "2:29")
    minutes = resolve(layer("CartPole-v1", steps=10_000, minutes=2, workers=1))
    assert time_left(played(steps=2500, seconds=50), minutes) in ("1:10", "1:09")
    endless = resolve(layer("CartPole-v1", until_return=400, workers=1))
    assert time_left(played(), endless) == ""


@pytest.mark.parametrize(("number", "goes_on"), [(0, False), (2, True)])
def test_the_end_says_what_to_do_next(number: int, goes_on: bool) -> None:
    outcome = Outcome(Path("runs/a"), "solved", number, 12345, 61.0, 475.5, None)
    text = "\n".join(end_lines(outcome, resolve(layer("CartPole-v1"))))
    assert all(words in text for words in ("solved", "12,345 steps in 1:01", "475.50", "hogwild eval runs/a"))
    assert ("hogwild resume runs/a" in text) == goes_on


def test_an_end_without_any_finished_game_does_not_speak_of_nan() -> None:
    outcome = Outcome(Path("runs/a"), "done", 0, 64, 1.0, None, None)
    assert "nan" not in "\n".join(end_lines(outcome, resolve(layer("CartPole-v1")))).lower()


@pytest.mark.parametrize("lost", [0, 1234])
def test_the_end_says_what_was_lost(lost: int) -> None:
    outcome = Outcome(Path("runs/a"), "done", 0, 64, 1.0, 20.0, None, lost)
    text = "\n".join(end_lines(outcome, resolve(layer("CartPole-v1"))))
    assert ("episodes lost to failing environments: 1,234" in text) == bool(lost)
    assert ("lost" in text) == bool(lost)


def test_the_display_fits_where_the_output_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(make_display(quiet=True), Silent)
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    assert isinstance(make_display(quiet=False), PlainLines)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert isinstance(make_display(quiet=False), LivePanel)


def test_plain_lines_say_how_it_goes(
    resolved: Resolved, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "LINE_SECONDS", 0.0)
    lines, progress = PlainLines(), played()
    lines.begin(resolved, RunFolder(Path("runs/a")), progress)
    header = capsys.readouterr().out
    assert all(words in header for words in ("CartPole-v1", "after 10,000 steps", "runs/a, resumed at step 2,500"))
    lines.update(progress, None, [])
    assert capsys.readouterr().out == ""
    lines.update(progress, progress.row(), [])
    (line,) = capsys.readouterr().out.splitlines()
    shown = ("steps 2,500", " steps/s  ", "return 25 best 30", "entropy 0.6875", "value error 0.25", "lag 1.5")
    assert all(words in line for words in (*shown, "gradient 3", "(at most 2:"))
    assert 40 <= float(line.split(" steps/s")[0].split()[-1]) <= 50  # 2,500 in 50 seconds, and what this took


def test_plain_lines_come_once_in_ten_seconds(resolved: Resolved, capsys: pytest.CaptureFixture[str]) -> None:
    lines, progress = PlainLines(), played()
    lines.begin(resolved, RunFolder(Path("runs/a")), progress)
    capsys.readouterr()
    for _ in range(5):
        lines.update(progress, progress.row(), [])
    assert capsys.readouterr().out == ""


def panel_text(resolved: Resolved, row: bool, workers: list[WorkerStatus]) -> str:
    console = Console(file=io.StringIO(), width=110)
    panel, progress = LivePanel(console), played()
    panel.resolved, panel.folder, panel.expectation = resolved, RunFolder(Path("runs/a")), Expectation(resolved)
    if row:
        panel.row = progress.row()
    with console.capture() as caught:
        console.print(panel.panel(progress, workers))
    return caught.get()


def test_the_panel_shows_the_figures_that_matter(resolved: Resolved) -> None:
    workers = [WorkerStatus(0, "playing", 1, 1500), WorkerStatus(1, "starting", 2, 0)]
    text = panel_text(resolved, True, workers)
    shown = (
        "2,500 steps of 10,000",
        "10,000 frames",
        " steps/s ",
        "25.00",
        "best 30",
        "2 games",
        "0.6875",
        "1.5 updates",
    )
    assert all(words in text for words in (*shown, "0 playing 1,500", "1 starting 0", "CartPole-v1", "runs/a"))


def test_the_panel_does_without_what_is_not_known_yet(resolved: Resolved) -> None:
    text = panel_text(resolved, False, [])
    assert "no game finished yet" in text
    assert "entropy" in text


def test_the_panel_counts_workers_that_it_has_no_room_for(resolved: Resolved) -> None:
    assert "and 8 more" in panel_text(resolved, True, [WorkerStatus(rank, "playing") for rank in range(40)])


def in_a_terminal(arguments: list[str], folder: Path) -> tuple[int, str]:
    """Run a command in a pseudo-terminal; answers its exit code and everything that it drew."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 130, 0, 0))
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    started = Started(arguments, folder, **streams, env=environment() | {"TERM": "xterm-256color"})
    os.close(theirs)
    drawn = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not chunk:
            break
        drawn += chunk
    os.close(ours)
    return started.wait().code, drawn.decode()


def shows_the_cursor_at_the_end(drawn: str) -> bool:
    return drawn.rfind("\x1b[?25h") > drawn.rfind("\x1b[?25l") > 0


def test_in_a_terminal_a_live_panel_shows_how_it_goes(tmp_path: Path) -> None:
    command = shlex.split(
        "train CartPole-v1 --engine inline --workers 2 --envs 8 --steps 12000 --log-seconds 0.2 --name a"
    )
    code, drawn = in_a_terminal([*command], tmp_path)
    assert code == 0, drawn
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", drawn)
    for shown in (
        r"[\d,]+ steps of 12,000",
        r"[1-9][\d,]* steps/s",
        r"return +\d+\.\d\d +best \d+",
        r"entropy +0\.\d+",
    ):
        assert re.search(shown, text), shown
    for shown in (r"lag +\d[\d.]* updates", r"workers +0 playing [\d,]+ +1 playing [\d,]+", r"environment \d+%"):
        assert re.search(shown, text), shown
    assert "steps reached" in text
    assert shows_the_cursor_at_the_end(drawn)


def test_a_failure_gives_the_terminal_back_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(
        "import gymnasium\n"
        "from gymnasium.envs.classic_control import CartPoleEnv\n"
        "class Late(CartPoleEnv):\n"
        "    count = 0\n"
        "    def step(self, action):\n"
        "        Late.count += 1\n"
        "        if Late.count > 2000: raise RuntimeError('too late')\n"
        "        return super().step(action)\n"
        "gymnasium.register('Late-v0', entry_point=Late)\n"
    )
    command = shlex.split(
        "train late:Late-v0 --engine inline --workers 1 --envs 8 --minutes 5 --log-seconds 0.1 --name a"
    )
    code, drawn = in_a_terminal([*command], tmp_path)
    assert code == 3, drawn
    assert "Traceback" not in drawn
    assert "RuntimeError: too late" in drawn
    assert shows_the_cursor_at_the_end(drawn)
