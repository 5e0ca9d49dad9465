"""What the server answers is what the runs say."""

import http.client
import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hogwild
from hogwild.dashboard.catalogue import Catalogue, describe_settings, findings
from hogwild.runs.folder import RunFolder
from tests.dashboard.conftest import SMALL, Server


def test_the_table_has_every_run_with_its_figures(server: Server, runs: Path) -> None:
    rows = {row["name"]: row for row in server.get("/api/runs")}
    assert set(rows) == {"cart-0", "cart-1", "pong"}
    status = hogwild.Run("cart-0", str(runs)).status
    assert rows["cart-0"]["steps"] == status["steps"]
    assert rows["cart-0"]["return_mean"] == status["return_mean"]
    assert rows["cart-0"]["state"] == "finished"
    metrics = {
        row["progress/steps"]: row.get("episode/return_mean") for row in hogwild.Run("cart-0", str(runs)).metrics()
    }
    assert len(rows["cart-0"]["spark"]) > 5
    assert all(metrics[step] == mean for step, mean in rows["cart-0"]["spark"])


def test_details_say_how_a_run_was_made_and_what_differs_from_the_defaults(server: Server, runs: Path) -> None:
    details = server.get("/api/runs/cart-0")
    assert details["meta"]["seeds"] == json.loads((runs / "cart-0" / "meta.json").read_text())["seeds"]
    changed = {s["name"] for s in details["settings"] if s["value"] != s["default"]}
    assert {"engine", "envs", "log_seconds", "checkpoint_seconds", "steps"} <= changed
    assert "learning_rate" not in changed
    assert [worker["rank"] for worker in details["workers"]] == [0, 1]
    assert sum(worker["steps"] for worker in details["workers"]) == details["summary"]["steps"]
    assert [c["steps"] for c in details["checkpoints"]] == [details["summary"]["steps"]]
    assert server.get("/api/runs/cart-0/doctor") == findings(RunFolder(runs / "cart-0"))


@pytest.mark.parametrize(
    ("by", "metric", "factor"), [("steps", "progress/steps", 1), ("minutes", "progress/seconds", 1 / 60)]
)
def test_a_curve_has_the_numbers_of_the_run(server: Server, runs: Path, by: str, metric: str, factor: float) -> None:
    rows = [row for row in hogwild.Run("cart-0", str(runs)).metrics() if "policy/entropy" in row]
    (curve,) = server.get(f"/api/curves?runs=cart-0&metrics=policy/entropy&by={by}&points=4000")
    assert curve["y"] == pytest.approx([row["policy/entropy"] for row in rows], rel=1e-5)
    assert curve["x"] == pytest.approx([row[metric] * factor for row in rows], rel=1e-5)


def test_returns_are_those_of_the_games(server: Server, runs: Path) -> None:
    games = hogwild.Run("cart-0", str(runs)).episodes()
    (curve,) = server.get("/api/curves?runs=cart-0&metrics=episode/return&points=2")
    half = np.array_split(np.array([game["return"] for game in games]), 2)
    assert curve["y"] == pytest.approx([part.mean() for part in half], rel=1e-4)
    (curve,) = server.get("/api/curves?runs=cart-0&metrics=episode/return&by=updates&points=2")
    assert len(curve["x"]) == 2


def test_seeds_of_one_method_are_one_curve_with_a_band(server: Server) -> None:
    apart = server.get("/api/curves?runs=cart-0,cart-1,pong&metrics=policy/entropy")
    assert [curve["runs"] for curve in apart] == [["cart-0"], ["cart-1"], ["pong"]]
    together = server.get("/api/curves?runs=cart-0,cart-1,pong&metrics=policy/entropy&seeds=together")
    assert [curve["runs"] for curve in together] == [["cart-0", "cart-1"], ["pong"]]
    known = [(y, low, high) for y, low, high in zip(*(together[0][k] for k in ("y", "low", "high")), strict=True) if y]
    assert known
    assert all(low - 1e-6 <= y <= high + 1e-6 for y, low, high in known)
    assert any(low < high for _, low, high in known)


@pytest.mark.parametrize("query", ["by=weeks", "points=x", "from=nan", "smooth=inf", "to=1e999"])
def test_a_part_that_makes_no_sense_is_refused(server: Server, query: str) -> None:
    assert server.ask(f"/api/curves?runs=cart-0&metrics=policy/entropy&{query}")[0] == 400


def test_what_is_not_there_is_not_found(server: Server) -> None:
    for path in (
        "/api/runs/none",
        "/api/runs/none/doctor",
        "/api/runs/none/spectator",
        "/api/x",
        "/api/runs/cart-0/videos/x.mp4",
    ):
        status, _, body = server.ask(path)
        assert status == 404
        assert json.loads(body)["error"]
    assert server.get("/api/curves?runs=none&metrics=policy/entropy") == []
    assert server.post("/api/play/start", {})[0] == 404


def wait_for_jobs(server: Server) -> list[Any]:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        jobs: list[Any] = server.get("/api/jobs")
        if all(job["state"] not in ("waiting", "working") for job in jobs):
            return jobs
        time.sleep(0.2)
    raise AssertionError("jobs did not end")


def test_a_checkpoint_is_evaluated_filmed_and_shown(server: Server, runs: Path) -> None:
    (checkpoint,) = server.get("/api/runs/cart-1")["checkpoints"]
    for kind in ("evaluate", "film"):
        status, job = server.post(
            "/api/runs/cart-1/jobs", {"kind": kind, "checkpoint": checkpoint["name"], "episodes": 3}
        )
        assert status == 200
        assert job["state"] in ("waiting", "working")
    evaluated, filmed = wait_for_jobs(server)[-2:]
    assert evaluated["state"] == filmed["state"] == "done", (evaluated, filmed)
    expected = hogwild.Run("cart-1", str(runs)).evaluate(3).summary()
    assert evaluated["result"]["mean"] == expected["mean"]
    details = server.get("/api/runs/cart-1")
    assert details["checkpoints"][0]["evaluations"][0]["mean"] == expected["mean"]
    assert details["videos"] == [filmed["result"]["video"]]
    status, headers, film = server.ask(f"/api/runs/cart-1/videos/{details['videos'][0]}")
    assert status == 200
    assert headers["content-type"] == "video/mp4"
    assert film[4:8] == b"ftyp"
    status, _, part = server.ask(f"/api/runs/cart-1/videos/{details['videos'][0]}", headers={"Range": "bytes=4-7"})
    assert (status, part) == (206, b"ftyp")


def test_jobs_can_be_cancelled_and_do_not_pile_up(server: Server) -> None:
    (checkpoint,) = server.get("/api/runs/cart-0")["checkpoints"]
    wanted = {"kind": "evaluate", "checkpoint": checkpoint["name"], "episodes": 1000}
    answers = [server.post("/api/runs/cart-0/jobs", wanted) for _ in range(12)]
    assert 429 in [status for status, _ in answers]
    numbers = [job["number"] for status, job in answers if status == 200]
    for number in numbers:
        assert server.post(f"/api/jobs/{number}/cancel", {})[1] == {"cancelled": True}
    assert server.post("/api/jobs/99999/cancel", {})[1] == {"cancelled": False}
    assert {job["state"] for job in wait_for_jobs(server) if job["number"] in numbers} == {"cancelled"}


@pytest.mark.parametrize(
    "wanted",
    [
        {"kind": "remove", "checkpoint": "step-000000003000"},
        {"kind": "evaluate", "checkpoint": "../../x"},
        {"kind": "evaluate", "checkpoint": ["newest"]},
        {"kind": "evaluate"},
    ],
)
def test_nothing_is_run_but_what_there_is_a_button_for(server: Server, wanted: dict[str, Any]) -> None:
    assert server.post("/api/runs/cart-0/jobs", wanted)[0] == 400


def test_looking_at_a_run_imports_nobodys_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trap.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    run = hogwild.train("CartPole-v1", runs=str(tmp_path / "runs"), name="foreign", steps=100, **SMALL)
    text = run.folder.config.read_text()
    run.folder.config.write_text(text.replace('env = "CartPole-v1"', 'env = "trap:Trap-v0"'))
    catalogue = Catalogue(str(tmp_path / "runs"))
    folder = catalogue.find("foreign")
    assert folder is not None
    assert catalogue.details(folder)["summary"]["name"] == "foreign"
    assert findings(folder)["findings"] == []
    assert "not imported" in findings(folder)["why"]
    assert describe_settings(folder)[0]["value"] == "trap:Trap-v0"
    assert not (tmp_path / "sprung").exists()


def events_of(server: Server, path: str, count: int) -> list[Any]:
    """The first events of a stream, which is left open no longer than that."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request("GET", path)
        response, found = connection.getresponse(), []
        while len(found) < count and (line := response.readline()):
            if line.startswith(b"data: "):
                found.append(json.loads(line[6:]))
        return found
    finally:
        connection.close()


def test_news_begin_with_everything(server: Server) -> None:
    (first,) = events_of(server, "/api/news", 1)
    assert first["all"]
    assert {row["name"] for row in first["runs"]} == {"cart-0", "cart-1", "pong"}


def test_a_spectator_of_numbers_draws_the_game_and_ends_with_its_viewer(server: Server) -> None:
    greeting, scene, following = events_of(server, "/api/runs/cart-0/spectator", 3)
    assert greeting["spectator"] >= 1
    assert scene["picture"].startswith("data:image/png;base64,")
    assert following["length"] > scene["length"]
    deadline = time.monotonic() + 30
    while server.post(f"/api/spectators/{greeting['spectator']}", {"paused": True})[1]["told"]:
        assert time.monotonic() < deadline, "it plays on without a viewer"
        time.sleep(0.1)


def test_too_many_spectators_at_once_are_refused_in_words(server: Server) -> None:
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(events_of, server, "/api/runs/cart-0/spectator", 2) for _ in range(8)]
        answers = [each.result() for each in asked]
    refused = [events for events in answers if "error" in events[0]]
    assert len(refused) >= 1
    assert all("too many" in events[0]["error"] for events in refused)
    assert len(refused) <= 4


def test_a_worker_that_does_not_play_is_said_to(server: Server) -> None:
    (answer,) = events_of(server, "/api/runs/cart-0/worker/0", 1)
    assert "not training" in answer["error"]


def test_the_doctor_reads_a_run_again_only_when_there_is_more_to_read(
    tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(runs / "cart-0", tmp_path / "cart-0")
    folder, catalogue, visits = RunFolder(tmp_path / "cart-0"), Catalogue(str(tmp_path)), []
    monkeypatch.setattr("hogwild.dashboard.catalogue.examine", lambda patient: visits.append(patient) or [])
    first = catalogue.findings(folder)
    assert catalogue.findings(folder) == first
    assert len(visits) == 1
    with open(folder.metrics, "a") as file:
        file.write(folder.metrics.read_text().splitlines()[-1] + "\n")
    catalogue.findings(folder)
    assert len(visits) == 2
