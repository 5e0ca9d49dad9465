"""Trainings that are disturbed while they run."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hogwild
from hogwild.api import Run
from hogwild.runs.folder import RunFolder, read_json


def train_disturbed(disturb: Callable[[RunFolder], None], folder: Path, **settings: Any) -> Run:
    """Train, while a thread does something to the run; what goes wrong in the thread is raised."""
    run = RunFolder(folder / "run")
    failures: list[BaseException] = []

    def beside() -> None:
        try:
            disturb(run)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=beside, daemon=True)
    thread.start()
    found = hogwild.train(runs=str(folder), name="run", log_seconds=0.2, **settings)
    thread.join(timeout=10)
    if failures:
        raise failures[0]
    return found


def wait_for(what: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Wait until something is there."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found


def workers(run: RunFolder) -> list[dict[str, Any]]:
    """What the run says of its workers; empty before it has said anything."""
    return list(read_json(run.status).get("workers", []))


def pid_of(run: RunFolder, rank: int) -> int:
    """The process of one worker, once it plays."""

    def playing() -> int:
        found = workers(run)
        return int(found[rank]["pid"]) if found and found[rank]["state"] in ("playing", "serving") else 0

    return int(wait_for(playing))


def kill(run: RunFolder, rank: int) -> None:
    """Kill one worker, once it plays."""
    os.kill(pid_of(run, rank), signal.SIGKILL)


def events(run: RunFolder | Run) -> list[dict[str, Any]]:
    """What a run has survived."""
    path = run.events if isinstance(run, RunFolder) else run.folder.events
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
