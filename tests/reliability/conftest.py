"""What tests of faults have in common: how processes are started, and which fault is chosen."""

import json
import os
from collections.abc import Callable
from multiprocessing import forkserver
from pathlib import Path

import pytest

from hogwild.engines import member
from tests.cells.conftest import forking


@pytest.fixture
def spawned() -> None:
    """Processes are spawned, as what ships does it."""


@pytest.fixture(autouse=True)
def quick_processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork processes from a server that has imported everything, where spawning itself does not matter."""
    if "spawned" in request.fixturenames:
        return
    monkeypatch.setattr(member, "CONTEXT", forking())


@pytest.fixture(scope="session")
def fault_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with the variables of a fault; processes are forked from a server that knows where it is."""
    path = tmp_path_factory.mktemp("fault") / "variables.json"
    os.environ["FAULT_FILE"] = str(path)
    forkserver._forkserver._stop()
    forking()
    return path


@pytest.fixture
def faulty(fault_file: Path) -> Callable[..., str]:
    """Choose the fault of the environment whose id is answered."""

    def choose(fault: str, **variables: object) -> str:
        from tests.reliability.fault_env import ID

        named = {f"FAULT_{name.upper()}": str(value) for name, value in variables.items()}
        fault_file.write_text(json.dumps({"FAULT": fault} | named))
        return ID

    return choose
