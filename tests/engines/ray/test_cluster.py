"""Several machines, in a world of namespaces: what they learn, and what they survive."""

import socket
from pathlib import Path

import pytest

from hogwild.engines.ray.node import make_token, require_free, require_token, token_path
from hogwild.errors import UsageError
from tests.engines.ray.world import can_be_made, play

WORLD = can_be_made()
needs_world = pytest.mark.skipif(not WORLD, reason="no namespaces here: unshare or ip is missing or not allowed")
pytestmark = [pytest.mark.timeout(600), pytest.mark.cluster]


def test_ci_has_namespaces() -> None:
    import os

    assert WORLD or "CI" not in os.environ


@needs_world
@pytest.mark.learn
@pytest.mark.parametrize("scenario", ["solved_by_trajectories", "solved_by_gradients"])
def test_a_head_and_three_machines_solve_cartpole(scenario: str) -> None:
    found = play(scenario)
    assert found["code"] == 0, found["text"]
    assert "solved" in found["text"]
    assert found["machines"] == ["n1", "n2", "n3"]


@needs_world
@pytest.mark.fault(75)
def test_a_machine_that_is_killed_is_seen_at_once_and_slows_nobody() -> None:
    found = play("killed")
    assert found["seconds_to_see"] < 1.0
    assert found["speed_meanwhile"] > 0.9  # more than before, since the cores of the one that was killed are free
    assert found["code"] == 130
    assert found["updates"] > 0
    assert found["counted"] <= found["steps"]


@needs_world
@pytest.mark.fault(76)
@pytest.mark.fault(77)
def test_a_machine_that_is_cut_off_or_stands_still_is_missed_and_comes_back() -> None:
    found = play("cut_off")
    assert found["seconds_to_see"] < 5.0
    assert found["speed_meanwhile"] > 0.9
    assert found["seconds_to_rejoin"] < 120.0  # its Ray starts anew, on cores that all machines share here
    assert found["seconds_to_see_a_stop"] < 6.0
    assert found["seconds_to_go_on"] < 120.0
    assert found["code"] == 130


@needs_world
@pytest.mark.fault(78)
def test_a_slow_line_slows_its_own_machine_only() -> None:
    found = play("slow_line")
    assert 0 < found["speeds"]["n1"] < found["speeds"]["n2"]
    assert found["has_lag"]
    assert found["code"] == 130


@needs_world
@pytest.mark.fault(79)
def test_strangers_are_not_let_in_and_disturb_nobody() -> None:
    found = play("strangers")
    assert found["let_in"] == {"wrong token": False, "no token": False, "the token": True}
    assert found["code"] == 130


@needs_world
@pytest.mark.fault(80)
def test_a_run_whose_first_machine_is_lost_goes_on_by_one_command() -> None:
    found = play("head_lost")
    assert 0 < found["saved"] == found["resumed_at"] < found["after"]
    assert found["code"] == 130


@needs_world
@pytest.mark.parametrize("scenario", ["by_ssh", "by_slurm"])
def test_the_scripts_for_other_clusters_train_and_leave_nothing_running(scenario: str) -> None:
    found = play(scenario)
    assert found["code"] == 0, found["text"]
    assert found["joined"], found["text"]


@pytest.mark.fault(80)
def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UsageError, match="Choose another --port"):
        require_free("127.0.0.1", taken.getsockname()[1])


@pytest.mark.fault(79)
def test_the_token_is_its_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "token"))
    with pytest.raises(UsageError, match="Copy that file"):
        require_token()
    path = make_token()
    assert path == token_path()
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(path.read_text()) == 64
    assert make_token().read_text() == path.read_text()
