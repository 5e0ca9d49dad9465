"""Many who look on at once, some of whom never read what they are sent."""

import json
import selectors
import shutil
import socket
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from hogwild.dashboard.streams import MOST_VIEWERS
from hogwild.files import write_whole
from tests.dashboard.conftest import serving

VIEWERS, IDLE = 200, 20
CHANGES = 10


class Viewer:
    """Somebody who looks at the table of runs."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.socket.sendall(f"GET /api/news HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        self.read = b""

    def has_seen(self, words: bytes) -> bool:
        """Whether some words are in what has come since they were last looked for."""
        self.read += self.socket.recv(65536)
        found = words in self.read
        self.read = b"" if found else self.read[-4096:]
        return found


def seconds_until_seen(viewers: list[Viewer], words: bytes, most: float = 20.0) -> list[float]:
    """How long it takes until each of them has read some words."""
    began, took = time.monotonic(), []
    with selectors.DefaultSelector() as waiting:
        for viewer in viewers:
            waiting.register(viewer.socket, selectors.EVENT_READ, viewer)
        while len(took) < len(viewers):
            assert time.monotonic() - began < most, f"{len(took)} of {len(viewers)} have seen it"
            for key, _ in waiting.select(0.1):
                if key.data.has_seen(words):
                    waiting.unregister(key.fileobj)
                    took.append(time.monotonic() - began)
    return took


def is_let_in(port: int) -> bool:
    """Whether one more viewer is told of the runs, and not that there are too many."""
    viewer, told = Viewer(port), b""
    with viewer.socket:
        while b"\n\n" not in told.partition(b"data: ")[2]:
            told += viewer.socket.recv(65536)
    return b'"all": true' in told


def served_by(port: int) -> psutil.Process:
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # those of a browser come and go
            if any(c.laddr and c.laddr.port == port and c.status == "LISTEN" for c in process.net_connections()):
                return process
    raise AssertionError("nobody listens")


@pytest.mark.fault(82)
def test_two_hundred_viewers_see_what_changes_within_a_second_though_some_never_read(
    runs: Path, tmp_path: Path
) -> None:
    shutil.copytree(runs / "cart-0", tmp_path / "cart-0")
    status = tmp_path / "cart-0" / "status.json"
    content = json.loads(status.read_text())
    with serving("dashboard", "--runs", str(tmp_path)) as server:
        process = served_by(server.port)
        server.get("/api/runs")
        files, memory = process.num_fds(), process.memory_info().rss
        viewers = [Viewer(server.port) for _ in range(VIEWERS)]
        seconds_until_seen(viewers[IDLE:], b'"all": true')
        took: list[float] = []
        for steps in range(1_000_000, 1_000_000 + CHANGES):
            write_whole(status, json.dumps(content | {"steps": steps}).encode())
            took += seconds_until_seen(viewers[IDLE:], f'"steps": {steps}'.encode())
        assert sorted(took)[int(0.95 * len(took))] < 1.0
        assert process.memory_info().rss - memory < 50e6
        for viewer in viewers:
            viewer.socket.close()
        deadline = time.monotonic() + 15
        while process.num_fds() > files + 2:
            assert time.monotonic() < deadline, f"{process.num_fds()} files are open, there were {files}"
            time.sleep(0.2)


@pytest.mark.fault(82)
def test_more_viewers_than_there_may_be_are_told_so_until_others_leave(runs: Path) -> None:
    with serving("dashboard", "--runs", str(runs)) as server:
        viewers = [Viewer(server.port) for _ in range(MOST_VIEWERS)]
        seconds_until_seen(viewers, b'"all": true')
        refused = Viewer(server.port)
        seconds_until_seen([refused], f"More than {MOST_VIEWERS} viewers are too many.".encode())
        for viewer in [refused, *viewers]:
            viewer.socket.close()
        deadline = time.monotonic() + 15
        while not is_let_in(server.port):
            assert time.monotonic() < deadline, "nobody is let in again"
            time.sleep(0.2)
