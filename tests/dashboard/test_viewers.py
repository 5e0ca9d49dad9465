"""Many who look on at once, some of whom never read what they are sent."""

import socket
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.dashboard.conftest import serving

VIEWERS, IDLE = 200, 20


def look_on(port: int) -> socket.socket:
    viewer = socket.create_connection(("127.0.0.1", port), timeout=20)
    viewer.sendall(f"GET /api/news HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
    return viewer


def served_by(port: int) -> psutil.Process:
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # those of a browser come and go
            if any(c.laddr and c.laddr.port == port and c.status == "LISTEN" for c in process.net_connections()):
                return process
    raise AssertionError("nobody listens")


@pytest.mark.fault(82)
def test_many_viewers_do_not_keep_others_from_looking(runs: Path) -> None:
    with serving("dashboard", "--runs", str(runs)) as server:
        process = served_by(server.port)
        server.get("/api/runs")
        files, memory = process.num_fds(), process.memory_info().rss
        viewers = [look_on(server.port) for _ in range(VIEWERS)]
        for viewer in viewers[IDLE:]:
            assert viewer.recv(100).startswith(b"HTTP/1.1 ")
        took = []
        for _ in range(20):
            began = time.monotonic()
            server.get("/api/runs")
            took.append(time.monotonic() - began)
        assert sorted(took)[10] < 1.0
        assert process.memory_info().rss - memory < 50e6
        for viewer in viewers:
            viewer.close()
        deadline = time.monotonic() + 15
        while process.num_fds() > files + 2:
            assert time.monotonic() < deadline, f"{process.num_fds()} files are open, there were {files}"
            time.sleep(0.2)
