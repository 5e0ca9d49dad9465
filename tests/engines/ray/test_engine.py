"""The engine on a Ray of its own, on this machine: it learns, ends in order, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = pytest.mark.cluster
LOOPBACK = {"127.0.0.1", "::ffff:127.0.0.1", "::1"}
CELLS = [
    ("a3c", "gradients"),
    ("a3c", "trajectories"),
    ("ppo", "trajectories"),
    ("vtrace", "gradients"),
    ("vtrace", "trajectories"),
]


def train(folder: Path, env: str, *flags: object) -> "subprocess.Popen[str]":
    words = [
        sys.executable,
        "-m",
        "hogwild",
        "train",
        env,
        "--engine",
        "ray",
        "--runs",
        folder,
        "--name",
        "run",
        *flags,
    ]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return subprocess.Popen(
        list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=variables
    )


def status(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / "run" / "status.json").read_text())
    except (OSError, ValueError):
        return {"steps": 0, "workers": []}
    return found


def rays_own() -> set[int]:
    """Processes of Ray, whoever started them."""
    found = set()
    for process in psutil.process_iter(["cmdline"]):
        words = " ".join(process.info["cmdline"] or [])
        if "raylet" in words or "gcs_server" in words or "OutpostActor" in words:
            found.add(process.pid)
    return found


def listening(process: psutil.Process) -> list[Any]:
    return [each for each in process.net_connections() if each.status == psutil.CONN_LISTEN]


@pytest.mark.learn
@pytest.mark.parametrize(("objective", "exchange"), CELLS, ids=lambda word: word)
def test_every_cell_learns_a_probe(objective: str, exchange: str, tmp_path: Path) -> None:
    """The action has to follow what is seen."""
    flags = ("--objective", objective, "--exchange", exchange, "--until-return", 0.9, "--steps", 600_000)
    training = train(tmp_path, "hogwild/ProbeObservationAction-v0", *flags)
    said, _ = training.communicate(timeout=200)
    assert training.returncode == 0, said
    assert "solved" in said, said


def test_ctrl_c_ends_in_order_and_nothing_is_left_behind(tmp_path: Path) -> None:
    before = rays_own()
    training = train(tmp_path, "CartPole-v1", "--until-return", 501, "--steps", 0)
    end = time.monotonic() + 120
    while status(tmp_path)["steps"] < 5000 and time.monotonic() < end:
        time.sleep(0.2)
    assert status(tmp_path)["steps"] >= 5000
    family = {psutil.Process(pid) for pid in {training.pid} | (rays_own() - before)}
    assert {listened.laddr.ip for process in family for listened in listening(process)} <= LOOPBACK
    training.send_signal(signal.SIGINT)
    said, _ = training.communicate(timeout=60)
    assert training.returncode == 130, said
    now = status(tmp_path)
    assert now["state"] == "interrupted"
    assert sum(worker["steps"] for worker in now["workers"]) <= now["steps"]
    assert list((tmp_path / "run" / "checkpoints").glob("step-*"))
    end = time.monotonic() + 15
    while (left := rays_own() - before) and time.monotonic() < end:
        time.sleep(0.2)
    assert not left
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert any(name.endswith("/received") and name.startswith("machines/") for row in rows for name in row)


def test_an_environment_that_cannot_be_made_ends_the_run_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULT", "init-raises")  # in a worker, not where the run is started
    monkeypatch.setenv("FAULT_AFTER", "0")
    training = train(tmp_path, "tests.reliability.fault_env:FaultyCartPole-v0", "--workers", 1)
    said, _ = training.communicate(timeout=100)
    assert training.returncode == 4, said
    assert "No machine can take part" in said
    assert "the wheel came off" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--exchange", "weights"), "machines do not share memory"),
        (("--exchange", "barrier"), "machines do not share memory"),
        (("--lock", "turns", "--record-schedule"), "only on one machine"),
        (("--address", "127.0.0.1:1"), "no Ray answers at 127.0.0.1:1"),
    ],
    ids=["weights", "barrier", "tape", "nobody"],
)
def test_what_cannot_be_is_refused_in_a_sentence(flags: tuple[str, ...], words: str, tmp_path: Path) -> None:
    training = train(tmp_path, "CartPole-v1", *flags)
    said, _ = training.communicate(timeout=100)
    assert training.returncode == 2, said
    assert words in said
    assert "Traceback" not in said
