"""`hogwild watch` in a terminal: a real run, a real pseudo-terminal, and the screen that a person would see."""

import os
import pty
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyte
import pytest
from running import COMMAND, Ended, Started, environment, wait_until

ROWS, COLUMNS = 40, 100


def is_grey(colour: str) -> bool:
    return colour[:2] == colour[2:4] == colour[4:]


class Viewer:
    """A command in a terminal of its own, and its screen."""

    def __init__(self, arguments: list[str], folder: Path) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        ours, theirs = pty.openpty()
        self.ours = ours
        variables = environment() | {"COLUMNS": str(COLUMNS), "LINES": str(ROWS), "TERM": "xterm-256color"}
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        self.process = subprocess.Popen([*COMMAND, *arguments], cwd=folder, env=variables, **streams)
        os.close(theirs)

    def read(self, seconds: float = 0.1) -> None:
        """Take in what has been written."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and select.select([self.ours], [], [], left)[0]:
            try:
                self.stream.feed(os.read(self.ours, 1 << 16))
            except OSError:  # the other side has closed
                return

    def press(self, key: str) -> None:
        os.write(self.ours, key.encode())

    def shows(self, text: str) -> bool:
        self.read()
        return text in "".join(self.screen.display)  # long lines are wrapped

    def colours(self) -> set[str]:
        """Colours of the picture, as six hexadecimal digits."""
        self.read()
        found = {self.screen.buffer[row][column].fg for row in range(1, 20) for column in range(40)}
        return {colour for colour in found if len(colour) == 6}

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


@pytest.fixture
def viewer(tmp_path: Path) -> Iterator[Callable[..., Viewer]]:
    opened: list[Viewer] = []

    def open_viewer(*arguments: str) -> Viewer:
        opened.append(Viewer(["watch", *arguments], tmp_path))
        return opened[-1]

    yield open_viewer
    for each in opened:
        each.close()


def test_a_training_that_nobody_asked_to_be_watched_is_watched(tmp_path: Path, viewer: Callable[..., Viewer]) -> None:
    small = ["--workers", "2", "--envs", "2", "--minibatches", "1", "--image-size", "42", "--rollout-steps", "16"]
    training = Started(["train", "pong", "--steps", "10M", "--name", "live", *small], tmp_path)
    status, live = tmp_path / "runs" / "live" / "status.json", tmp_path / "runs" / "live" / "live"
    try:
        wait_until(status.exists, 60, "the training")
        assert list(live.iterdir()) == [], "nobody looks yet"
        seen = viewer()
        wait_until(lambda: seen.shows("worker 0") and seen.shows("return "), 60, "the game of worker 0")
        wait_until(lambda: len(seen.colours()) > 3, 30, "a picture in shades of grey")
        assert all(map(is_grey, seen.colours())), "it is what the network receives"
        assert seen.shows("noop")
        assert seen.shows("training, ")
        seen.press("w")
        wait_until(lambda: seen.shows("worker 1") and not seen.shows("worker 0"), 60, "the next worker")
        seen.press(" ")
        wait_until(lambda: seen.shows("paused"), 30, "the pause")
        seen.press(" -")
        wait_until(lambda: seen.shows("0.5×"), 30, "slow motion")
        seen.press("s")
        wait_until(lambda: seen.colours() and not all(map(is_grey, seen.colours())), 60, "the spectator's game")
        assert seen.shows("spectator")
        assert (live / "weights.safetensors").exists(), "the newest weights are shown to who plays with them"
        seen.press("q")
        wait_until(lambda: seen.process.poll() is not None, 30, "the end")
        assert seen.process.returncode == 0
        wait_until(lambda: not list(live.glob("*.frames")), 30, "workers to stop showing their games")
    finally:
        training.signal_all(2)
        ended = training.wait()
    assert ended.code == 130
    assert not live.exists(), "nothing is left behind"


def test_a_run_that_is_over_is_played_by_the_spectator(tiny: Path, viewer: Callable[..., Viewer]) -> None:
    seen = viewer(str(tiny), "--seconds", "30")
    wait_until(lambda: seen.shows("spectator") and seen.shows("return "), 60, "a game")
    assert seen.shows("action 1")
    assert seen.shows("finished, ")


def test_without_a_terminal_it_says_what_to_do(here: Callable[..., Ended], tiny: Path) -> None:
    ended = here("watch", str(tiny))
    assert ended.code == 2
    assert "draws in a terminal, and this is none. A film: hogwild eval" in ended.err


def test_what_cannot_be_watched_is_refused_before_the_screen_is_taken(
    tiny: Path, tmp_path: Path, viewer: Callable[..., Viewer]
) -> None:
    for arguments, message in (
        ([str(tiny), "--worker", "0"], "is not training now; --spectator"),
        ([str(tiny), "--worker", "5"], "the run has workers 0 to 0"),
        (["--runs", str(tmp_path / "none")], "No run in"),
    ):
        seen = viewer(*arguments)
        wait_until(lambda seen=seen: seen.process.poll() is not None, 60, "the end")  # type: ignore[misc]
        assert seen.process.returncode == 2
        assert seen.shows(message)
