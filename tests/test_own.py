"""Parts of your own: the examples work as they stand, and mistakes in them are told as theirs."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import hogwild
from hogwild.errors import HogwildError, UsageError
from hogwild.own import load_own

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL: dict[str, Any] = {"engine": "inline", "workers": 1, "envs": 2, "log_seconds": 0.01, "steps": 2000}


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


def test_an_encoder_of_your_own_is_trained_and_loaded_again(tmp_path: Path) -> None:
    run = hogwild.train(
        "CartPole-v1",
        encoder="own_encoder:Residual",
        normalise="running",
        normalise_steps=500,
        runs=str(tmp_path),
        **SMALL,
    )
    agent = run.load()
    assert "encoder.encoder.second.weight" in dict(agent.policy.named_parameters())
    assert agent.policy.state_dict()["encoder.normaliser.deviation"].ne(1).any()


def test_an_encoder_of_your_own_reads_pictures_through_our_normaliser(tmp_path: Path) -> None:
    (tmp_path / "flat_encoder.py").write_text(
        "from torch import nn\n"
        "class Flat(nn.Sequential):\n"
        "    def __init__(self, shape):\n"
        "        super().__init__(nn.Flatten(), nn.Linear(shape[0] * shape[1] * shape[2], 8))\n"
        "        self.outputs = 8\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        settings = SMALL | {
            "steps": 600,
            "normalise_steps": 100,
            "image_size": 20,
            "image_width": 20,
            "encoder": "flat_encoder:Flat",
        }
        run = hogwild.train("pong", runs=str(tmp_path), **settings)
    finally:
        sys.path.remove(str(tmp_path))
    weights = run.load().policy.state_dict()
    assert weights["encoder.normaliser.mean"].shape[2:] == (20, 20)
    assert weights["encoder.normaliser.mean"].max() > 1


def test_a_policy_of_your_own_and_classes_given_themselves(tmp_path: Path) -> None:
    own_policy = load_own("own_policy:Apart", "--policy-class")
    run = hogwild.train("CartPole-v1", policy_class=own_policy, runs=str(tmp_path), **SMALL)
    assert type(run.load().policy).__name__ == "Apart"
    assert 'policy_class = "own_policy:Apart"' in (run.path / "config.toml").read_text()


@pytest.mark.learn
def test_an_objective_of_your_own_learns(tmp_path: Path) -> None:
    settings = SMALL | {"steps": 150_000, "until_return": 150.0, "envs": 8}
    run = hogwild.train("CartPole-v1", objective="own_objective:OnlyGoodNews", runs=str(tmp_path), **settings)
    assert run.status["return_mean"] >= 150.0


def test_hooks_are_called_and_their_metrics_stand_beside_ours(tmp_path: Path) -> None:
    for engine in ("inline", "processes"):
        settings = SMALL | {"engine": engine, "hooks": "own_hooks:Diary", "name": engine}
        run = hogwild.train("CartPole-v1", runs=str(tmp_path), **settings)
        rows = [row for row in run.metrics() if "own/surprise" in row]
        assert all(0 < row["own/surprise"] <= 0.8 for row in rows)
        assert all(0 <= row["own/gradient_is_small"] <= 1 and 0 < row["time/hooks"] < 1 for row in rows)
        assert rows
        note = (run.path / "diary.txt").read_text()
        assert note.endswith(f": {run.status['return_best']:g}\n")


def test_hooks_are_called_by_the_learner_of_trajectories(tmp_path: Path) -> None:
    settings = SMALL | {"hooks": "own_hooks:Diary", "exchange": "trajectories", "objective": "vtrace"}
    rows = hogwild.train("CartPole-v1", runs=str(tmp_path), **settings).metrics()
    assert any("own/surprise" in row for row in rows)
    assert any("own/gradient_is_small" in row for row in rows)


@pytest.mark.learn
def test_the_environment_of_the_examples_is_sound_and_is_learned(tmp_path: Path) -> None:
    from hogwild.cli.main import run as command

    assert command(["check", "own_environment:Landing-v0"]) == 0
    settings: dict[str, Any] = {"engine": "inline", "workers": 1, "steps": 300_000, "until_return": 0.5}
    run = hogwild.train("own_environment:Landing-v0", runs=str(tmp_path), **settings)
    assert run.status["return_mean"] >= 0.5


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return self.linear(x).view(3)", "shape .* is invalid for input .*; an encoder is made with a shape"),
        ("return x[:, :3]", r"it answers \(2, 3\) to two observations of shape \(4,\), not \(2, 8\)"),
        ("return self.norm(self.linear(x))", "The layer 'encoder.encoder.norm' .BatchNorm1d. answers otherwise"),
    ],
)
def test_an_encoder_that_does_not_fit_is_refused_by_name(
    body: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"bad_encoder_{abs(hash(body))}"
    (tmp_path / f"{name}.py").write_text(
        "from torch import nn\n"
        "class Bad(nn.Module):\n"
        "    outputs = 8\n"
        "    def __init__(self, shape):\n"
        "        super().__init__()\n"
        "        self.linear, self.norm = nn.Linear(shape[0], 8), nn.BatchNorm1d(8)\n"
        f"    def forward(self, x):\n        {body}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageError, match=words):
        hogwild.train("CartPole-v1", runs=str(tmp_path), encoder=f"{name}:Bad", **SMALL)


SCRIPT = """
import hogwild
from torch import nn

class Parts:
    class Small(nn.Sequential):
        def __init__(self, shape):
            super().__init__(nn.Linear(shape[0], 8), nn.Tanh())
            self.outputs = 8

if __name__ == "__main__":
    hogwild.train("CartPole-v1", encoder=Parts.Small, steps=400, workers=1, envs=2, runs="runs", name="run")
"""


def test_a_class_of_the_script_itself_is_found_again(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = os.environ | {"PYTHONPATH": str(EXAMPLES.parent)}
    for words in (["script.py"], ["-m", "hogwild", "eval", "run", "--episodes", "1"]):
        words = [sys.executable, *words]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr
    assert 'encoder = "script:Parts.Small"' in (tmp_path / "runs" / "run" / "config.toml").read_text()


def test_a_class_that_nobody_finds_again_is_refused(tmp_path: Path) -> None:
    class Here:
        pass

    with pytest.raises(UsageError, match="is defined in a function, where nobody finds it again: put it into a module"):
        hogwild.train("CartPole-v1", encoder=Here, runs=str(tmp_path), **SMALL)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"encoder": "nothing_here:X"}, "--encoder nothing_here:X: 'nothing_here' cannot be imported: No module named"),
        ({"encoder": "own_encoder:Residul"}, "did you mean 'Residual'"),
        ({"encoder": "a3k"}, "There is no encoder 'a3k'; did you mean 'a3g' or 'a3c'"),
        ({"objective": "own_objective:Nope"}, "--objective own_objective:Nope: There is no name in 'own_objective'"),
        ({"objective": "pop"}, "There is no objective 'pop'; did you mean 'ppo'"),
        ({"hooks": "own_hooks:Dairy"}, "did you mean 'Diary'"),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        hogwild.train("CartPole-v1", runs=str(tmp_path), **SMALL | settings)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("def on_rollout(self, rollout): return {'x': 1 / 0}", "failed in on_rollout: ZeroDivisionError"),
        ("def on_rollout(self, rollout): return {'x': None}", "failed in on_rollout: TypeError"),
        ("def on_update(self, metrics): return 3.0", "failed in on_update: AttributeError"),
        ("def on_rolout(self, rollout): pass", "There is no hook of --hooks .* 'on_rolout'; did you mean 'on_rollout'"),
    ],
)
def test_a_hook_that_fails_is_named(body: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"bad_hooks_{abs(hash(body))}"
    (tmp_path / f"{name}.py").write_text(f"class Bad:\n    {body}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(HogwildError, match=words):
        hogwild.train("CartPole-v1", runs=str(tmp_path), hooks=f"{name}:Bad", **SMALL)


def test_hooks_in_the_coordinator_are_timed_and_do_not_keep_a_training_from_its_end(tmp_path: Path) -> None:
    settings = {"hooks": "tests.failing_hooks:DawdlingAtEnds", "workers": 1, "envs": 8, "log_seconds": 0.5}
    began = time.monotonic()
    run = hogwild.train("CartPole-v1", runs=str(tmp_path), minutes=0.1, **settings)  # type: ignore[arg-type]
    assert time.monotonic() - began < 30
    assert any(row.get("time/coordinator_hooks", 0.0) > 0.5 for row in run.metrics())
