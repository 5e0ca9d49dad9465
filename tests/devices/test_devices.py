"""Policies on a device of their own. No graphics card is needed: a stand-in refuses whatever a real one would."""

from pathlib import Path
from typing import Any

import pytest
import torch

import hogwild
from hogwild.acting import Actor
from hogwild.errors import UsageError
from hogwild.resolve import layer, resolve
from tests.cells.cells import CELLS, Cell, make_session
from tests.cells.test_contracts import running, work_until
from tests.devices.stand_in import NAME, StandIn, install

install()
INLINE = [cell for cell in CELLS if cell.engine == "inline"]
THREADS = [cell for cell in CELLS if cell.engine == "threads"]


def weights_after(cell: Cell, updates: int, **changes: Any) -> torch.Tensor:
    session = make_session(cell, minibatches=2, **changes)
    with running(session) as reports:
        work_until(session, reports, updates)
    return session.shared.weights.cpu()


def test_the_stand_in_refuses_to_meet_the_host() -> None:
    there = torch.ones(2, device=NAME)
    assert isinstance(there, StandIn)
    with pytest.raises(RuntimeError, match="tensors on cpu, standin"):
        there + torch.ones(2)
    with pytest.raises((TypeError, RuntimeError)):
        there.numpy()
    assert (there + there.to(NAME)).cpu().tolist() == [2.0, 2.0]


@pytest.mark.parametrize("memory", ["none", "lstm"])
@pytest.mark.parametrize("cell", INLINE, ids=str)
def test_a_device_changes_nothing_but_the_place(cell: Cell, memory: str) -> None:
    common = {"memory": memory, "memory_size": 8, "dropout": 0.1}
    here, there = (weights_after(cell, 6, device=device, **common) for device in ("cpu", NAME))
    # Not bit for bit: where a device has no kernel of its own for an operation, torch takes it apart.
    torch.testing.assert_close(there, here, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("cell", INLINE[:1], ids=str)
def test_workers_take_several_devices_in_turn(cell: Cell) -> None:
    session = make_session(cell, device=[f"{NAME}:0", "cpu"], workers=3)
    with running(session) as reports:
        engine: Any = session.engine
        assert [str(worker.policy.device) for worker in engine.workers] == [f"{NAME}:0", "cpu", f"{NAME}:0"]
        assert session.shared.weights.device.type == "cpu"  # the policies are copies; the weights stay on the host
        work_until(session, reports, 6)


@pytest.mark.parametrize("cell", THREADS, ids=str)
def test_threads_keep_the_weights_on_the_device(cell: Cell) -> None:
    session = make_session(cell, device=NAME)
    with running(session) as reports:
        work_until(session, reports, 4)
        session.engine.stop()
    assert session.shared.weights.device.type == NAME
    assert session.shared.statistics.device.type == NAME


def test_a_missing_move_to_the_device_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in is worth something only if it fails where a real device would."""
    usual = Actor.collect

    def forgetful(self: Actor, version: int) -> Any:
        self.state = self.state.cpu()
        return usual(self, version)

    monkeypatch.setattr(Actor, "collect", forgetful)
    session = make_session(INLINE[0], device=NAME, memory="gru")
    with running(session), pytest.raises(RuntimeError, match="tensors on cpu, standin"):
        session.engine.poll(0.0)


def test_pictures_are_normalised_on_the_device(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"engine": "inline", "workers": 1, "envs": 2, "rollout_steps": 8, "minibatches": 1}
    run = hogwild.train("pong", device=NAME, steps=160, normalise_steps=64, runs=str(tmp_path), **settings)
    assert run.status["updates"] > 2
    assert run.load().predict(torch.zeros(2, 70, 80, dtype=torch.uint8).numpy())[0] in range(6)


def test_a_device_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="--device"):
        resolve(layer("CartPole-v1", device="cuda:93"))
    with pytest.raises(UsageError, match="weights stay on one device"):
        resolve(layer("CartPole-v1", engine="threads", device=[f"{NAME}:0", f"{NAME}:1"]))
