"""The coordinator: stop rules, what it keeps, and what it saves when something goes wrong."""

from pathlib import Path
from typing import Any

import pytest

import hogwild
from hogwild.engines.inline import InlineEngine
from hogwild.errors import HogwildError, UsageError
from hogwild.exchanges.shared import VERSION
from hogwild.report import Report
from hogwild.runs.checkpoint import list_checkpoints, newest_checkpoint
from hogwild.runs.writers import RunWriter

PROBE = "hogwild/ProbeAction-v0"


def train(folder: Path, env: str = PROBE, **settings: Any) -> hogwild.Run:
    chosen = {"engine": "inline", "workers": 2, "envs": 2, "rollout_steps": 4, "runs": str(folder), "name": "run"}
    return hogwild.train(env, **{**chosen, **settings})


def test_steps_stop_the_training(tmp_path: Path) -> None:
    status = train(tmp_path, steps=100).status
    assert 100 <= status["steps"] <= 100 + 2 * 2 * 4
    assert status["state"] == "finished"


def test_what_is_counted_while_the_engine_stops_is_in_the_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = InlineEngine.stop

    def stop_after_one_more_update(engine: InlineEngine) -> list[Report]:
        reports = stop(engine)
        engine.crew.shared.counters[VERSION] += 1
        return reports

    monkeypatch.setattr(InlineEngine, "stop", stop_after_one_more_update)
    run = train(tmp_path, steps=100)
    _, checkpoint, _ = newest_checkpoint(run.folder.checkpoints)
    assert run.status["updates"] == checkpoint.state["progress"]["updates"]


def test_minutes_stop_the_training(tmp_path: Path) -> None:
    assert 0.6 <= train(tmp_path, minutes=0.01).status["seconds"] <= 10.0


def test_a_mean_return_stops_the_training_once_100_episodes_have_ended(tmp_path: Path) -> None:
    status = train(tmp_path, until_return=0.5, steps=100_000, learning_rate=1e-2).status
    assert status["return_mean"] >= 0.5
    assert 100 <= status["episodes"] < 100_000


def test_the_newest_checkpoints_and_the_best_are_kept(tmp_path: Path) -> None:
    run = train(tmp_path, steps=4_000, checkpoint_seconds=0.1, keep_checkpoints=2, learning_rate=1e-2)
    names = [path.name for path in list_checkpoints(run.folder.checkpoints)]
    best = run.status["best_checkpoint"]
    assert best in names
    assert len([name for name in names if name != best]) <= 2
    assert len(names) >= 2


def test_a_run_that_failed_can_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = train(tmp_path, steps=200)
    with monkeypatch.context() as broken:
        broken.setattr(RunWriter, "write_row", lambda *_: (_ for _ in ()).throw(HogwildError("broken")))
        with pytest.raises(HogwildError, match="broken"):
            run.resume(steps=100_000, log_seconds=0.1)
    done = run.status["steps"]
    run.resume(steps=done + 500)
    assert run.status["steps"] >= done + 500


@pytest.mark.fault(66)
def test_a_run_goes_on_with_another_number_of_workers(tmp_path: Path) -> None:
    run = train(tmp_path, steps=200, engine="processes")
    done = run.status["steps"]
    run.resume(steps=done + 200, workers=1)
    assert run.status["steps"] >= done + 200
    assert run.settings.execution.workers == 1


def test_who_was_in_mid_game_cannot_become_more_or_fewer(tmp_path: Path) -> None:
    run = train(tmp_path, steps=200)
    done = run.status["steps"]
    with pytest.raises(UsageError, match="The run has 2 workers in mid-game; resume it with as many"):
        run.resume(steps=done + 200, workers=3)
    assert run.resume(steps=done + 200).status["steps"] >= done + 200
    run.resume(steps=done + 400, engine="processes", workers=1)  # whose games start anew anyway
    assert run.status["steps"] >= done + 400


def test_the_run_folder_says_how_the_run_was_made(tmp_path: Path) -> None:
    import json

    run = train(tmp_path, steps=100)
    meta = json.loads(run.folder.meta.read_text())
    assert set(meta) == {"created", "command", "git", "versions", "machine", "environment", "seeds"}
    assert meta["versions"]["torch"]
    assert run.settings.env == PROBE
    assert run.settings.execution.workers == 2
