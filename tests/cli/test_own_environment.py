"""An environment of one's own, as the README shows it: a module in this folder, no stop rule."""

from pathlib import Path

import pytest

from hogwild.cli.main import run

MODULE = """
import gymnasium, numpy

class Own(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return numpy.zeros(2, numpy.float32), {}

    def step(self, action):
        return numpy.zeros(2, numpy.float32), 1.0, True, False, {}

gymnasium.register("own/Own-v0", entry_point=Own)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_module.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "own_module:own/Own-v0"


def test_it_is_planned_without_a_stop_rule(own: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", own, "--dry-run"]) == 0
    assert "after 500,000 steps" in capsys.readouterr().out


def test_it_trains_and_what_cannot_be_filmed_is_said_in_a_line(own: str, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--steps", "64", "--engine", "inline", "--workers", "1", "--envs", "2", "--rollout-steps", "8"]
    assert run(["train", own, *small, "--name", "a", "--quiet"]) == 0
    assert run(["eval", "a", "--episodes", "2", "--video", "own.mp4"]) == 3
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    assert "cannot be filmed" in shown.err
