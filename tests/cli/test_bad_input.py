"""Whatever is wrong, the command says so in a line or two, ends with the right code, and leaves nothing running."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Ended, call

from hogwild.engines.inline import InlineEngine
from hogwild.errors import WorkerDied
from hogwild.report import Report
from hogwild.runs.checkpoint import list_checkpoints, newest_checkpoint

FAULTY = """
import gymnasium
import numpy as np


class Faulty(gymnasium.Env):
    def __init__(self):
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return np.zeros(3, np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.zeros(3, np.float32), 1.0, self.steps % 10 == 0, False, {}


class FaultyMake(Faulty):
    def __init__(self):
        raise RuntimeError("no licence")


class FaultyReset(Faulty):
    def reset(self, *, seed=None, options=None):
        raise RuntimeError("no start")


class FaultyStep(Faulty):
    count = 0

    def step(self, action):
        FaultyStep.count += 1
        if FaultyStep.count > 50:
            raise RuntimeError("no way on")
        return super().step(action)


for kind in (FaultyMake, FaultyReset, FaultyStep):
    gymnasium.register(f"{kind.__name__}-v0", entry_point=kind)
"""


def check(ended: Ended, code: int, *words: str) -> None:
    """One or two lines that begin with the program's name, and the exit code of that kind of error."""
    assert "Traceback" not in ended.out + ended.err
    assert ended.code == code, ended.err
    lines = ended.err.splitlines()
    assert lines[0].startswith("hogwild: ")
    assert len(lines) <= 2
    assert all(word in ended.err for word in words), ended.err


@pytest.mark.fault(73)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("trian CartPole-v1", ["no command 'trian'; did you mean 'train'"]),
        ("train CartPole", ["no environment 'CartPole'; did you mean 'CartPole-v"]),
        ("train CartPole-v1 --preset a3c-papr", ["no preset 'a3c-papr'; did you mean 'a3c-paper'"]),
        ("eval nosuch", ["no run 'nosuch'"]),
        ("train CartPole-v1 --discount 1.5 --workers -1", ["--discount 1.5", "--workers -1"]),
        ("train CartPole-v1 --encoder a3c --squash", ["--encoder a3c", "--squash"]),
        ("train CartPole-v1 --encoder nothing_here:X", ["'nothing_here' cannot be imported"]),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(tmp_path: Path, arguments: str, words: list[str]) -> None:
    check(call(*arguments.split(), folder=tmp_path), 2, *words)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("resume nosuch", ["no run 'nosuch'"]),
        ("show nosuch", ["no run 'nosuch'"]),
        ("train", ["Which environment"]),
        ("train CartPole-v1 --config missing.toml", ["Cannot read 'missing.toml'"]),
        ("train CartPole-v1 --learning-rate-final 0 --minutes 1", ["A schedule needs an end"]),
        ("train PongDeterministic-v4 --frame-skip 3", ["doubled frame-skip"]),
        ("train CartPole-v1 --sticky 0.25", ["--sticky: only for Atari games"]),
        ("train CartPole-v1 --name a/b", ["--name 'a/b'"]),
        ("eval nosuch --episodes 0", ["--episodes 0"]),
        ("eval nosuch --epsilon 2", ["--epsilon 2"]),
        ("eval nosuch --epsilon 0.1 --greedy", ["--greedy and --epsilon"]),
        ("bench CartPole-v1 --seconds=-1", ["--seconds"]),
        ("bench CartPole-v1 --rounds 0", ["--rounds"]),
    ],
)
def test_so_is_one_that_is_refused_just_as_well_in_this_process(
    here: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    check(here(*arguments.split()), 2, *words)
    assert list(tmp_path.iterdir()) == []


FLAGS = [
    ("--stesp 3", "--stesp"),
    ("--steps many", "--steps"),
    ("--encoder natur", "--encoder"),
    ("--steps", "--steps"),
]


@pytest.mark.parametrize(("flags", "named"), FLAGS)
def test_a_mistake_in_a_flag_is_refused_by_its_name(here: Callable[..., Ended], flags: str, named: str) -> None:
    ended = here("train", "CartPole-v1", *flags.split())
    assert ended.code == 2
    assert named in ended.err
    assert "Traceback" not in ended.err
    assert ended.out == ""


def test_an_unknown_checkpoint_is_refused_with_what_there_is(here: Callable[..., Ended], tiny: Path) -> None:
    check(here("eval", str(tiny), "--checkpoint", "7"), 2, "no checkpoint '7'", "step-000000002688")


def test_an_unknown_column_is_refused_with_the_one_that_was_meant(here: Callable[..., Ended], tiny: Path) -> None:
    check(here("runs", "--runs", str(tiny.parent), "--sort", "stesp"), 2, "did you mean 'steps'")


@pytest.mark.parametrize("arguments", ["eval", "resume --steps 4000"])
def test_a_damaged_checkpoint_is_refused_and_left_as_it_is(tiny: Path, tmp_path: Path, arguments: str) -> None:
    (checkpoint,) = list_checkpoints(tiny / "checkpoints")
    weights = checkpoint / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    before = {path: path.read_bytes() for path in checkpoint.iterdir()}
    command, *rest = arguments.split()
    check(call(command, str(tiny), *rest, folder=tmp_path), 5, checkpoint.name, "weights.safetensors")
    assert {path: path.read_bytes() for path in checkpoint.iterdir()} == before
    assert list_checkpoints(tiny / "checkpoints") == [checkpoint]


@pytest.mark.parametrize("content", ["", "{"])
def test_a_damaged_description_of_a_run_is_refused(here: Callable[..., Ended], tiny: Path, content: str) -> None:
    (tiny / "config.toml").write_text(content)
    ended = here("eval", str(tiny), "--episodes", "1")
    check(ended, ended.code)
    assert ended.code in (2, 5)


def test_a_run_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    arguments = shlex.split("train CartPole-v1 --steps 64 --engine inline --workers 1 --runs file/runs --name a")
    check(call(*arguments, folder=tmp_path), 5, "file/runs", "Not a directory")


def test_a_run_name_that_is_taken_is_refused_without_a_terminal(here: Callable[..., Ended], tiny: Path) -> None:
    ended = here("train", "CartPole-v1", "--steps", "64", "--name", "tiny", "--runs", str(tiny.parent))
    check(ended, 2, f"hogwild resume {tiny}")


def test_leaving_the_question_whether_to_go_on_unanswered_is_no_crash(
    here: Callable[..., Ended], tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang_up(_: str) -> str:
        raise EOFError

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", hang_up)
    ended = here("train", "CartPole-v1", "--steps", "64", "--name", "tiny", "--runs", str(tiny.parent))
    assert ended.code in (2, 130)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("Make", ["could not be made", "RuntimeError: no licence"]),
        ("Reset", ["failed in reset", "RuntimeError: no start"]),
        ("Step", ["failed in step", "RuntimeError: no way on"]),
    ],
)
def test_an_environment_that_raises_is_named_with_what_it_said(tmp_path: Path, kind: str, words: list[str]) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY)
    env = f"faulty:Faulty{kind}-v0"
    arguments = ["train", env, *shlex.split("--workers 2 --envs 1 --minutes 5 --name a")]
    ended = call(*arguments, folder=tmp_path)
    lines = ended.err.splitlines()
    if kind == "Step":  # before the end it is said, once for each worker, that an episode is lost
        assert all("The episode is lost" in line and "hogwild reproduce" in line for line in lines[:-1])
        assert "21 episodes in a row were lost" in lines[-1]
        assert len(lines) <= 3
    check(Ended(ended.code, ended.out, lines[-1] + "\n"), 3, f"'{env}'", *words)
    if kind in ("Make", "Reset"):  # found out before anything is written
        assert not (tmp_path / "runs").exists()
        return
    assert "RuntimeError" in (tmp_path / "runs" / "a" / "log.txt").read_text()
    _, checkpoint, skipped = newest_checkpoint(tmp_path / "runs" / "a" / "checkpoints")
    assert skipped == []
    assert (checkpoint.state["progress"]["steps"] > 0) == (kind == "Step")


def test_a_failed_run_says_how_far_it_came(
    here: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play, rounds = InlineEngine.poll, iter(range(3))

    def fail_in_the_fourth_round(self: InlineEngine, seconds: float) -> list[Report]:
        reports = play(self, seconds)
        if next(rounds, None) is None:
            raise WorkerDied("gone")
        return reports

    monkeypatch.setattr(InlineEngine, "poll", fail_in_the_fourth_round)
    arguments = "train hogwild/ProbeConstant-v0 --steps 999 --engine inline --workers 1 --envs 2 --rollout-steps 16"
    check(here(*arguments.split(), "--name", "a", "--runs", str(tmp_path)), 4, "gone")
    _, checkpoint, _ = newest_checkpoint(tmp_path / "a" / "checkpoints")
    status = json.loads((tmp_path / "a" / "status.json").read_text())
    assert status["state"] == "failed"
    assert status["steps"] == checkpoint.state["progress"]["steps"] == 128


def test_a_preset_without_an_environment_asks_for_one_and_keeps_the_preset(here: Callable[..., Ended]) -> None:
    check(here("train", "--preset", "a3c-paper"), 2, "hogwild train --preset a3c-paper pong")


def test_a_film_that_is_no_mp4_is_refused_before_any_game(here: Callable[..., Ended]) -> None:
    check(here("eval", "nowhere", "--video", "game.gif"), 2, "game.gif", "MP4")
