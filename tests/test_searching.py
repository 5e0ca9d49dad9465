"""A study: trials are ordinary runs, the defaults come first, it goes on where it was, and its best can be trained."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

import hogwild
from hogwild.cli.main import run as command
from hogwild.errors import UsageError
from hogwild.resolve import layer
from hogwild.searching import Search

ENV = "hogwild/ProbeObservationAction-v0"


def search(folder: Path, trials: int, **changes: Any) -> tuple[Search, list[str]]:
    said: list[str] = []
    settings = layer(ENV, **{"steps": 3000, "engine": "inline", "workers": 1, "log_seconds": 0.01, **changes})
    study = Search(settings, folder, said.append)
    study.run(trials)
    return study, said


def test_trials_are_runs_and_the_best_of_them_can_be_trained(tmp_path: Path) -> None:
    study, said = search(tmp_path / "study", 3)
    assert [line.split(":")[0] for line in said[2:]] == ["trial 0", "trial 1", "trial 2"]
    assert said[0].endswith("3 trials of 3,000 steps each")
    assert "learning_rate" in said[1], "it is said what is searched"
    usual = layer(ENV).flat()
    assert study.study.trials[0].params["learning_rate"] == usual["learning_rate"][0], "the defaults come first"
    runs = sorted(path.name for path in (tmp_path / "study").iterdir() if path.is_dir())
    assert runs == ["trial-000", "trial-001", "trial-002"]
    best = tomllib.loads((tmp_path / "study" / "best.toml").read_text())
    assert best["learning_rate"] == study.study.best_params["learning_rate"]
    run = hogwild.train("", file=str(tmp_path / "study" / "best.toml"), steps=200, runs=str(tmp_path), **SMALL)
    assert run.settings.flat()["learning_rate"] == (best["learning_rate"],)
    assert (tmp_path / "study" / "study.png").stat().st_size > 10_000


SMALL: dict[str, Any] = {"engine": "inline", "workers": 1}


def test_a_study_goes_on_where_it_was(tmp_path: Path) -> None:
    search(tmp_path, 2)
    study, said = search(tmp_path, 3)
    assert len(study.study.trials) == 3
    assert said[0].endswith("3 trials of 3,000 steps each, 2 of them done")
    assert [line.split(":")[0] for line in said[2:]] == ["trial 2"]
    assert search(tmp_path, 3)[1][2:] == []


def test_a_folder_of_another_study_is_refused(tmp_path: Path) -> None:
    search(tmp_path, 1)
    with pytest.raises(UsageError, match="has objective a3c, not ppo"):
        search(tmp_path, 2, objective="ppo")
    with pytest.raises(UsageError, match=f"has env {ENV}, not CartPole-v1"):
        Search(layer("CartPole-v1", steps=100), tmp_path, print)
    with pytest.raises(UsageError, match=r"has usual envs \d+, not 24"):
        search(tmp_path, 2, envs=24)
    with pytest.raises(UsageError, match="has steps of a trial 3000, not 300"):
        search(tmp_path, 2, steps=300)


@pytest.mark.parametrize("env", ["LunarLander-v3", "BipedalWalker-v3", "HalfCheetah-v5", "pong", "CartPole-v1"])
def test_the_usual_settings_of_every_family_are_the_first_trial(env: str, tmp_path: Path) -> None:
    settings = layer(env, steps=1000)
    study = Search(settings, tmp_path, print)
    study.study.enqueue_trial(study._usual())
    found = study._suggest(study.study.ask())
    flat = settings.flat()
    assert found == {name: flat[name][0] if isinstance(flat[name], tuple) else flat[name] for name in found}


def test_trials_that_fall_behind_are_ended_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, _ = search(tmp_path, 1)
    monkeypatch.setattr("optuna.Trial.should_prune", lambda trial: True)
    study.run(2)
    last = study.study.trials[-1]
    assert last.state.name == "PRUNED"
    run = hogwild.Run("trial-001", str(tmp_path))
    assert run.status["steps"] < 3000
    assert run.status["state"] == "finished"


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", "CartPole-v1", "--trials", "1", "--steps", "500", "--folder", str(tmp_path)]
    assert command(words) == 0
    out = capsys.readouterr().out
    assert "trial 0: return " in out
    assert f"hogwild train --config {tmp_path / 'best.toml'}" in out


def test_a_trial_needs_an_end(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="How long is a trial"):
        Search(layer(ENV).update(steps=0, minutes=0.0), tmp_path, print)
