"""Real runs, and the real server over them."""

import asyncio
import http.client
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import hogwild
from tests.dashboard.chromium import CHROMIUM, FLAGS, MUST_BE_THERE

# Without a browser these tests are left out, and `make test` has said so; where it must be there, they fail.
collect_ignore = [] if CHROMIUM or MUST_BE_THERE else ["test_browser.py"]
if not (shutil.which("npm") or MUST_BE_THERE):
    collect_ignore.append("test_frontend.py")
SMALL: dict[str, Any] = {"engine": "inline", "workers": 2, "envs": 2, "log_seconds": 0.01, "checkpoint_seconds": 1000}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of CartPole, and a game of Pong that has only begun."""
    folder = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        hogwild.train("CartPole-v1", runs=str(folder), name=f"cart-{seed}", seed=seed, steps=3000, **SMALL)
    hogwild.train("pong", runs=str(folder), name="pong", steps=256, objective="a3c", normalise_steps=64, **SMALL)
    return folder


def run_async(work: Coroutine[Any, Any, Any]) -> Any:
    """Run in a thread of its own: the browser's driver keeps a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


class Server:
    """A server in a process of its own, and questions to it."""

    def __init__(self, port: int, address: str) -> None:
        self.port, self.address = port, address

    def ask(
        self, path: str, method: str = "GET", body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(method, path, content, headers or {})
            response = connection.getresponse()
            return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """What a question is answered with."""
        status, _, body = self.ask(path)
        assert status == 200, body
        return json.loads(body)

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        """What a change is answered with, asked for as the page does."""
        status, _, content = self.ask(path, "POST", body, {"x-hogwild": "1", "content-type": "application/json"})
        return status, json.loads(content)


@contextmanager
def serving(*words: str, where: Path | None = None) -> Iterator[Server]:
    """The command `hogwild` with these words, until it is no longer needed; in another folder, if need be."""
    command = [sys.executable, "-m", "hogwild", *words, "--port", "0", "--no-browser"]
    with tempfile.TemporaryFile("w+") as complaints:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True, cwd=where)
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            found = re.search(r"http://[^ ]*?:(\d+)\S*", line)
            assert found, line
            yield Server(int(found[1]), found[0])
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            finally:
                process.kill()
                process.stdout.close()
                complaints.seek(0)
                errors = complaints.read()
    assert process.returncode == 0, errors
    assert "Traceback" not in errors, errors


@pytest.fixture(scope="session")
def server(runs: Path) -> Iterator[Server]:
    """The dashboard over the runs."""
    with serving("dashboard", "--runs", str(runs)) as found:
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Any]:
    """Opens pages; at the end none of them may have complained of anything."""
    contexts, complaints = [], []

    def open_one(address: str, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda r: complaints.append(r.url) if "ERR_ABORTED" not in str(r.failure) else None)
        page.set_default_timeout(60_000)
        page.goto(address)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert complaints == []
