"""Other trackers get the same rows; one that fails costs a run nothing but a word."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hogwild
from hogwild.cli import main as cli
from hogwild.runs import trackers

SMALL: dict[str, Any] = {"engine": "inline", "workers": 1, "envs": 2, "log_seconds": 0.01, "rollout_steps": 8}


class Recorded:
    """A tracker that remembers."""

    made: "list[Recorded]"

    def __init__(self, folder: Any, settings: dict[str, Any], fail_at: int = -1) -> None:
        self.rows: list[tuple[dict[str, float], int]] = []
        self.settings, self.closed, self.fail_at = settings, False, fail_at
        type(self).made.append(self)

    def log(self, row: dict[str, float], step: int) -> None:
        if len(self.rows) == self.fail_at:
            raise ConnectionError("the network is down")
        self.rows.append((row, step))

    def close(self, failed: bool) -> None:
        self.closed, self.failed = True, failed


@pytest.fixture(autouse=True)
def _forget() -> None:
    Recorded.made = []


def test_every_row_is_handed_on_with_its_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(trackers.TRACKERS, "wandb", (Recorded, "json"))
    run = hogwild.train("CartPole-v1", runs=str(tmp_path), steps=1000, track="wandb", **SMALL)
    (tracker,) = Recorded.made
    assert [row for row, _ in tracker.rows] == run.metrics()
    assert all(row["progress/steps"] == step for row, step in tracker.rows)
    assert tracker.settings["env"] == "CartPole-v1"
    assert tracker.closed
    assert not tracker.failed


def test_trouble_is_said_once_and_training_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = lambda folder, settings: Recorded(folder, settings, fail_at=2)  # noqa: E731
    monkeypatch.setitem(trackers.TRACKERS, "mlflow", (failing, "json"))
    run = hogwild.train("CartPole-v1", runs=str(tmp_path), steps=1000, track="mlflow", **SMALL)
    assert run.status["state"] == "finished"
    assert run.folder.log.read_text().count("--track mlflow: ConnectionError: the network is down") == 1
    assert len(Recorded.made[0].rows) == 2


def test_a_missing_package_is_named_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(trackers.TRACKERS, "trackio", (Recorded, "surely_not_installed"))
    assert cli.run(["train", "CartPole-v1", "--track", "trackio", "--runs", str(tmp_path), "--quiet"]) == 2
    assert "pip install 'hogwild[trackio]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def folder_of(tmp_path: Path) -> Any:
    from hogwild.runs.folder import RunFolder

    path = tmp_path / "a run"
    path.mkdir()
    return RunFolder(path)


def test_a_run_is_remembered_by_what_its_tracker_calls_it(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    names = iter(["first", "second"])
    assert trackers.remembered(folder, "here.txt", lambda: next(names)) == ("first", True)
    assert trackers.remembered(folder, "here.txt", lambda: next(names)) == ("first", False)


def test_weights_and_biases_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    folder = folder_of(tmp_path)
    tracker = trackers.WandbTracker(folder, {"env": "CartPole-v1"})
    tracker.log({"progress/steps": 5.0, "loss/value": 0.5}, 5)
    tracker.close(failed=False)
    wandb.teardown()  # waits for the process that writes the file, as the end of a program does
    (record,) = (folder.path / "wandb").glob("offline-run-*/run-*.wandb")
    assert b"loss/value" in record.read_bytes()


def test_mlflow_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database needs the whole of MLflow, files do not
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    folder = folder_of(tmp_path)
    for step in (5, 6):  # the second time it is resumed
        tracker = trackers.MLflowTracker(folder, {"env": "CartPole-v1"})
        tracker.log({"loss/value": step / 10}, step)
        tracker.close(failed=False)
    from mlflow import MlflowClient

    client = MlflowClient()
    history = client.get_metric_history(tracker.id, "loss/value")
    assert [(each.step, each.value) for each in history] == [(5, 0.5), (6, 0.6)]
    run = client.get_run(tracker.id)
    assert run.data.params == {"env": "CartPole-v1"}
    assert run.info.run_name == "a run"
    assert run.info.status == "FINISHED"


def test_trackio_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    tracker = trackers.TrackioTracker(folder_of(tmp_path), {"env": "CartPole-v1"})
    tracker.log({"loss/value": 0.5}, 5)
    tracker.close(failed=False)
    with closing(sqlite3.connect(tmp_path / "trackio" / "hogwild.db")) as database:
        ((name, step, metrics),) = database.execute("SELECT run_name, step, metrics FROM metrics").fetchall()
        ((config,),) = database.execute("SELECT config FROM configs").fetchall()
    assert name.startswith("a run-")
    assert (step, metrics) == (5, b'{"loss/value":0.5}')
    assert json.loads(config)["env"] == "CartPole-v1"
