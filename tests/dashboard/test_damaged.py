"""Runs that are damaged, hostile or oddly named: they are shown as well as can be, and the others as always."""

import http.client
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hogwild.dashboard.catalogue import Catalogue
from hogwild.dashboard.curves import Curves, Wanted
from hogwild.dashboard.streams import event
from hogwild.dashboard.tables import Tables
from hogwild.runs.folder import RunFolder
from tests.dashboard.conftest import serving


@pytest.fixture
def copies(tmp_path: Path, runs: Path) -> Path:
    """A folder with a run of its own to damage, and one beside it."""
    for name in ("cart-0", "cart-1"):
        shutil.copytree(runs / name, tmp_path / "runs" / name)
    return tmp_path / "runs"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("meta.json", '{"environment": null}'),
        ("meta.json", '{"environment": "pong"}'),
        ("meta.json", "[]"),
        ("status.json", '{"seconds": "x"}'),
        ("status.json", '{"workers": 3}'),
        ("metrics.jsonl", '{"progress/steps": 1' + "0" * 400 + ', "episode/return_mean": 1}\n'),
        ("metrics.jsonl", '{"progress/steps": 1, "episode/return_mean": Infinity}\n'),
        ("evaluations.jsonl", '[{"mean": NaN}]\n'),
    ],
)
def test_a_damaged_run_hides_no_other(copies: Path, file: str, text: str) -> None:
    (copies / "cart-0" / file).write_text(text)
    rows = {row["name"]: row for row in Catalogue(str(copies)).rows()}
    assert rows["cart-1"]["state"] == "finished"
    assert set(rows["cart-0"]) == set(rows["cart-1"])


def test_a_copy_of_a_checkpoint_is_none(copies: Path) -> None:
    (checkpoint,) = (copies / "cart-0" / "checkpoints").iterdir()
    shutil.copytree(checkpoint, checkpoint.with_name(checkpoint.name + ".bak"))
    details = Catalogue(str(copies)).details(RunFolder(copies / "cart-0"))
    assert [each["name"] for each in details["checkpoints"]] == [checkpoint.name]


def test_numbers_that_json_does_not_know_reach_no_browser() -> None:
    sent = event({"value": math.nan, "numbers": [1.0, -math.inf], "deep": {"x": (math.inf,)}})
    assert json.loads(sent.removeprefix(b"data: ")) == {"value": None, "numbers": [1.0, None], "deep": {"x": [None]}}


def test_names_with_commas_have_curves_and_a_page_that_is_open_ends_quietly(copies: Path) -> None:
    (copies / "cart-0").rename(copies / "lr=1,ent=50%")
    with serving("dashboard", "--runs", str(copies)) as server:
        found = server.get("/api/curves?runs=lr%3D1%252Cent%3D50%2525,cart-1&metrics=policy/entropy")
        assert [curve["runs"] for curve in found] == [["lr=1,ent=50%"], ["cart-1"]]
        assert server.ask("/assets/app.js")[1]["cache-control"] == "no-cache"
        listening = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        listening.request("GET", "/api/news")
        assert listening.getresponse().readline().startswith(b"data: ")
    listening.close()  # not before the server has ended: `serving` has seen that it did not complain


def test_a_module_that_a_run_names_is_imported_only_when_somebody_says_so(copies: Path, tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    (tmp_path / "trap.py").write_text(f"open({str(trap)!r}, 'w')\n")
    config = copies / "cart-0" / "config.toml"
    config.write_text(config.read_text().replace('"CartPole-v1"', '"trap:Trap-v0"'))
    with serving("dashboard", "--runs", str(copies), where=tmp_path) as server:
        assert server.get("/api/runs/cart-0")["imports"] == "trap"
        assert server.get("/api/runs/cart-1")["imports"] == ""
        status, _, said = server.ask("/api/runs/cart-0/spectator")
        assert status == 200
        assert "trap" in json.loads(said.removeprefix(b"data: "))["error"]
        server.get("/api/runs/cart-0/doctor")
        assert not trap.exists()
        assert server.post("/api/runs/cart-0/spectator", {})[0] == 200
        server.ask("/api/runs/cart-0/spectator")  # there is no such environment in it, so this ends
        assert trap.exists()


def test_a_worker_that_is_not_there_is_not_found(copies: Path) -> None:
    with serving("dashboard", "--runs", str(copies)) as server:
        assert server.ask("/api/runs/cart-0/worker/7")[0] == 404
        assert not list((copies / "cart-0").glob("live/*"))


def test_seeds_together_are_means_of_games_and_not_single_ones(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    folders = []
    for seed in range(2):
        folder = RunFolder(tmp_path / str(seed))
        folder.path.mkdir()
        games = [f"{step},{step},0,{value},1" for step, value in enumerate(random.normal(5.0, 100.0, 4000))]
        folder.episodes.write_text("\n".join(["step,seconds,worker,return,length", *games]) + "\n")
        folder.metrics.write_text('{"progress/steps": 1}\n{"progress/steps": 4000}\n')
        folders.append(folder)
    curve = Curves(Tables()).many(folders, "episode/return", Wanted(points=4))
    known: Any = curve.y[np.isfinite(curve.y)]
    assert np.abs(known - 5.0).max() < 20, "a hundred divided by the root of a thousand games, and some"
