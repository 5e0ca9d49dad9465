"""A run as a folder for the hub: a card that can be read, and every file that it speaks of."""

import json
from pathlib import Path
from typing import Any

import pytest

import hogwild
from hogwild.cli.main import run as command
from hogwild.errors import UsageError
from hogwild.publishing import push

SMALL: dict[str, Any] = {"engine": "inline", "workers": 1, "envs": 2, "steps": 300}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs: Path = tmp_path_factory.mktemp("runs")
    hogwild.train("CartPole-v1", runs=str(runs), name="run", **SMALL)
    out = runs / "model"
    assert command(["publish", "run", "--runs", str(runs), "--to-folder", str(out), "--episodes", "4"]) == 0
    return out


def test_everything_is_there(folder: Path) -> None:
    names = {file.name for file in folder.iterdir()}
    assert names == {"README.md", "config.toml", "model.safetensors", "policy.onnx", "replay.mp4", "results.json"}
    results = json.loads((folder / "results.json").read_text())
    assert (results["env"], results["episodes"]) == ("CartPole-v1", 4)


def test_the_likeliest_actions_are_played_if_asked_for(folder: Path) -> None:
    out, runs = folder.parent / "greedy", str(folder.parent)
    words = ["--to-folder", str(out), "--episodes", "2", "--greedy"]
    assert command(["publish", "run", "--runs", runs, *words]) == 0
    assert json.loads((out / "results.json").read_text())["actions"] == "greedy"
    assert "2 whole games with greedy actions" in (out / "README.md").read_text()


def test_the_card_says_what_the_results_say(folder: Path) -> None:
    from huggingface_hub import ModelCard

    card, results = ModelCard.load(folder / "README.md"), json.loads((folder / "results.json").read_text())
    (found,) = card.data.eval_results
    assert (found.dataset_name, found.metric_type, found.task_type) == (
        "CartPole-v1",
        "mean_reward",
        "reinforcement-learning",
    )
    assert found.metric_value == f"{results['mean']:.2f} +/- {results['deviation']:.2f}"  # as others there
    assert card.data.library_name == "hogwild"


def test_the_settings_train_it_again(folder: Path, tmp_path: Path) -> None:
    run = hogwild.train("", file=str(folder / "config.toml"), runs=str(tmp_path))
    assert run.settings.env == "CartPole-v1"


def test_without_a_token_nothing_is_pushed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(UsageError, match="hf auth login"):
        push(folder, "somebody/cartpole")


def test_with_a_token_the_folder_is_uploaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []

    class FakeHub:
        def create_repo(self, repository: str, exist_ok: bool) -> str:
            done.append((repository, exist_ok))
            return f"https://hub.example/{repository}"

        def upload_folder(self, **given: Any) -> None:
            done.append(given["folder_path"])

    monkeypatch.setattr("huggingface_hub.get_token", lambda: "secret")
    monkeypatch.setattr("huggingface_hub.HfApi", FakeHub)
    assert push(folder, "somebody/cartpole") == "https://hub.example/somebody/cartpole"
    assert done == [("somebody/cartpole", True), folder]
