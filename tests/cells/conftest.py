"""Processes for the tests of cells: most of their time would go into importing torch anew in each.

What ships spawns its processes. Here, but for the column `a3c × weights` (and all tests outside this folder), they are
forked from a server that has imported everything and done nothing else; arguments travel to them in the same way.
"""

import multiprocessing
from multiprocessing import forkserver
from multiprocessing.context import BaseContext

import pytest

from hogwild.engines import member

PRELOADED = ["torch", "gymnasium", "hogwild.engines.worker_process", "hogwild.engines.participant", "hogwild.worker"]


@pytest.fixture(autouse=True)
def quick_processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork processes from a server that has imported everything."""
    cell = getattr(request.node, "callspec", None) and request.node.callspec.params.get("cell")
    if cell is None or (cell.objective, cell.exchange) == ("a3c", "weights"):
        return
    monkeypatch.setattr(member, "CONTEXT", forking())


def forking() -> BaseContext:
    """A context that forks from a server, which runs already: else it would belong to the family of whom it starts."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    forkserver.ensure_running()
    return context
