"""`hogwild inspect`: what was kept agrees with itself, and what does not is found."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import hogwild
from hogwild.cli import main as cli
from hogwild.images import png
from hogwild.inputs import Recorded, recorded_updates
from hogwild.inspection import (
    check_all,
    judge,
    returns_follow,
    stacks_shift,
    starts_follow_ends,
    steps_come_from_the_rollout,
)
from hogwild.objectives.targets import Targets
from hogwild.rollout import Played, Rollout

SMALL: dict[str, Any] = {"engine": "inline", "workers": 2, "envs": 4, "rollout_steps": 40, "minibatches": 2}
KINDS: dict[str, dict[str, Any]] = {
    "a3c": {"objective": "a3c"},
    "ppo": {"objective": "ppo"},
    "ppo with a memory": {"objective": "ppo", "memory": "gru", "memory_size": 16},
    "vtrace": {"objective": "vtrace"},
    "ppo by a learner": {"objective": "ppo", "exchange": "trajectories"},
    "a3c to an updater": {"objective": "a3c", "exchange": "gradients"},
    "a3c of n steps": {"objective": "a3c", "returns": "n-step"},
    "a3c of whole episodes": {"objective": "a3c", "returns": "monte-carlo"},
}


@pytest.fixture(scope="module")
def pong(tmp_path_factory: pytest.TempPathFactory) -> hogwild.Run:
    """A short run on real pictures."""
    runs = str(tmp_path_factory.mktemp("runs"))
    changes = SMALL | {
        "workers": 1,
        "normalise_steps": 100,
        "image_size": 42,
        "frame_stack": 4,
        "envs": 2,
        "record_inputs": 3,
    }
    return hogwild.train("pong", steps=1000, runs=runs, name="pong", objective="ppo", **changes)


@pytest.mark.parametrize("kind", KINDS)
def test_what_every_objective_learns_from_agrees_with_itself(kind: str, tmp_path: Path) -> None:
    changes = SMALL | KINDS[kind] | {"record_inputs": 4, "steps": 2000}
    run = hogwild.train("CartPole-v1", runs=str(tmp_path), name="run", **changes)
    updates = recorded_updates(run.folder.inputs)
    learners = 1 if "learner" in kind else 2
    assert len(updates) == 4 * learners
    for update, rollout in updates:
        checks = check_all(update, rollout, run.settings, stacked=False)
        assert all(check.holds for check in checks), (update.name, checks)
        assert sum(check.looked_at > 0 for check in checks) == (2 if kind == "vtrace" else 3)


def test_stacks_of_real_pictures_shift_and_the_page_shows_them(pong: hogwild.Run, tmp_path: Path) -> None:
    updates = recorded_updates(pong.folder.inputs)
    assert len(updates) == 3
    assert stacks_shift(updates[0][1], stacked=True).holds
    assert stacks_shift(updates[0][1], stacked=True).looked_at > 50
    assert stacks_shift(updates[0][1], stacked=False).looked_at == 0, "colours are no stack"
    target = tmp_path / "inputs.html"
    assert cli.run(["inspect", str(pong.path), "--html", str(target), "--steps", "8"]) == 0
    text = target.read_text()
    assert text.count("<img") == 2 * 9, "eight steps and the bootstrap of two environments"
    assert "frames -3, -2, -1, 0" in text
    assert "http" not in text, "nothing from elsewhere"
    assert "✗" not in text


def broken(recorded: Recorded, name: str, change: Any) -> Recorded:
    tensors = {key: value.clone() for key, value in recorded.tensors.items()}
    change(tensors[name])
    return Recorded(recorded.name, tensors, recorded.about)


def test_whatever_does_not_agree_is_found(pong: hogwild.Run) -> None:
    update, rollout = recorded_updates(pong.folder.inputs)[0]
    settings = pong.settings

    def shift(observations: torch.Tensor) -> None:
        observations[5, 0] = observations[9, 0]

    def flip(first: torch.Tensor) -> None:
        first[7, 1] = ~first[7, 1]

    def raise_all(values: torch.Tensor) -> None:
        values += 0.5

    def other(actions: torch.Tensor) -> None:
        actions.copy_((actions + 1) % 6)

    def shuffle(advantages: torch.Tensor) -> None:
        advantages.copy_(advantages.roll(1, dims=1))

    assert not stacks_shift(broken(rollout, "observations", shift), stacked=True).holds
    assert not returns_follow(broken(update, "advantage", shuffle), rollout, settings).holds, "each at its own step"
    assert not steps_come_from_the_rollout(broken(update, "values", raise_all), rollout).holds
    assert starts_follow_ends(broken(rollout, "first", flip)).problems == ("step 7 of environment 1",)
    assert not returns_follow(update, broken(rollout, "rewards", raise_all), settings).holds
    assert not steps_come_from_the_rollout(broken(update, "actions", other), rollout).holds


@pytest.mark.parametrize("returns", ["gae", "n-step", "monte-carlo"])
def test_the_slow_advantages_are_those_of_the_training(pong: hogwild.Run, returns: str) -> None:
    _, recorded = recorded_updates(pong.folder.inputs)[0]
    tensors: dict[str, Any] = {name: tensor.clone() for name, tensor in recorded.tensors.items()}
    generator = torch.Generator().manual_seed(0)
    for name in ("rewards", "values", "final_value"):
        tensors[name] = torch.randn(tensors[name].shape, generator=generator)
    for name in ("terminated", "truncated"):
        tensors[name] = torch.rand(tensors[name].shape, generator=generator) < 0.1
    tensors["truncated"] &= ~tensors["terminated"]
    settings = pong.settings.update(returns=returns)
    rollout = Rollout(**tensors, played=(Played(0),))
    advantage, target, known = Targets.of_worker(settings, 0).estimate(rollout)
    slow = judge(Recorded("", tensors, recorded.about), settings)
    assert slow is not None
    assert torch.equal(slow.known, known)
    torch.testing.assert_close(slow.advantage[known], advantage[known])
    torch.testing.assert_close(slow.target[known], target[known])


def test_a_resumed_run_keeps_the_inputs_that_it_has(tmp_path: Path) -> None:
    common: dict[str, Any] = {"engine": "inline", "workers": 1, "runs": str(tmp_path), "name": "run"}
    run = hogwild.train("CartPole-v1", steps=1000, record_inputs=2, **common)
    before = {path.name: path.read_bytes() for path in run.folder.inputs.iterdir()}
    assert before
    run.resume(steps=3000)
    assert {path.name: path.read_bytes() for path in run.folder.inputs.iterdir()} == before


def test_pictures_are_real_png_files(tmp_path: Path) -> None:
    for shape in ((5, 7), (5, 7, 3)):
        picture = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
        (tmp_path / "picture.png").write_bytes(png(picture))
        assert (np.asarray(Image.open(tmp_path / "picture.png")) == picture).all()


def test_a_run_that_kept_nothing_says_how_to_keep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hogwild.train("CartPole-v1", steps=100, engine="inline", workers=1, runs=str(tmp_path), name="bare")
    assert cli.run(["inspect", "bare", "--runs", str(tmp_path)]) == 2
    assert "--record-inputs" in capsys.readouterr().err
