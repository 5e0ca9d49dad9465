"""What tests of faults have in common: how processes are started, and which fault is chosen."""

import multiprocessing
from collections.abc import Callable
from multiprocessing import forkserver

import pytest

from hogwild.engines import member
from tests.cells.conftest import PRELOADED


@pytest.fixture
def spawned() -> None:
    """Processes are spawned, as what ships does it."""


@pytest.fixture(autouse=True)
def quick_processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork processes from a server that has imported everything, where spawning itself does not matter."""
    if "spawned" in request.fixturenames:
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
        forkserver._forkserver._stop()  # the next one is started with these variables
        return ID

    return choose
