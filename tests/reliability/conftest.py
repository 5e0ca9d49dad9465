"""What tests of faults have in common: nothing may be left behind, whatever happened."""

import multiprocessing
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from hogwild.engines import member
from tests.cells.conftest import PRELOADED


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """No process and no shared memory outlives a test."""
    shared = set(os.listdir("/dev/shm")) if Path("/dev/shm").is_dir() else set()
    yield
    children = {child: " ".join(_words(child)) for child in psutil.Process().children()}
    left = [child for child, words in children.items() if "spawn_main" in words or "-m hogwild" in words]
    left += [worker for child, words in children.items() if "forkserver" in words for worker in child.children()]
    assert not left
    if shared:
        assert not {name for name in set(os.listdir("/dev/shm")) - shared if "torch" in name}


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline() if process.status() != psutil.STATUS_ZOMBIE else []
    except psutil.Error:
        return []


@pytest.fixture
def spawned() -> None:
    """Processes are spawned, as what ships does it."""


@pytest.fixture(autouse=True)
def quick_processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork processes from a server that has imported everything, where neither spawning itself matters nor variables
    that the server was not started with."""
    if {"faulty", "spawned"} & set(request.fixturenames):
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    monkeypatch.setattr(member, "CONTEXT", context)


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Choose the fault of the environment whose id is answered."""

    def choose(fault: str, **variables: object) -> str:
        from tests.reliability.fault_env import ID

        monkeypatch.setenv("FAULT", fault)
        for name, value in variables.items():
            monkeypatch.setenv(f"FAULT_{name.upper()}", str(value))
        return ID

    return choose
