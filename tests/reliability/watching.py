"""Trainings that are disturbed while they run."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import hogwild
from hogwild import api
from hogwild.api import Run
from hogwild.progress import Progress
from hogwild.runs.folder import RunFolder, read_json
from hogwild.training import start_training


def train_disturbed(disturb: Callable[[RunFolder], Any], folder: Path, **settings: Any) -> Run:
    """Train until a thread has done to the run what it wants, and seen what comes of it; two minutes at most. What goes
    wrong in the thread is raised."""
    run = RunFolder(folder / "run")
    failures: list[BaseException] = []

    def beside() -> None:
        try:
            disturb(run)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=beside, daemon=True)

    def enough(_: Progress) -> str:
        return "" if thread.is_alive() else "everything was seen"

    settings = {"minutes": 2.0, "log_seconds": 0.2} | settings
    with mock.patch.object(api, "start_training", partial(start_training, enough=enough)):
        thread.start()
        found = hogwild.train(runs=str(folder), name="run", **settings)
    thread.join(timeout=10)
    if failures:
        raise failures[0]
    assert not thread.is_alive(), "training ended first"
    return found


def train_until(seen: Callable[[RunFolder], Any], folder: Path, **settings: Any) -> Run:
    """Train until something is seen in the run's folder."""
    return train_disturbed(lambda run: wait_for(lambda: seen(run), seconds=110.0), folder, **settings)


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
        return int(workers(run)[rank]["pid"]) if is_at_work(run, rank) else 0

    return int(wait_for(playing))


def is_at_work(run: RunFolder, rank: int, restarts: int = 0) -> bool:
    """Whether a worker plays, or a server serves, after so many restarts at least."""
    found = workers(run)
    return bool(found) and found[rank]["state"] in ("playing", "serving") and found[rank]["restarts"] >= restarts


def kill(run: RunFolder, rank: int) -> None:
    """Kill one worker, once it plays."""
    os.kill(pid_of(run, rank), signal.SIGKILL)


def events(run: RunFolder | Run) -> list[dict[str, Any]]:
    """What a run has survived."""
    path = run.events if isinstance(run, RunFolder) else run.folder.events
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
