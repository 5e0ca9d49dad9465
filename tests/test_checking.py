"""`hogwild check` finds every kind of trouble in an environment, and none where there is none."""

import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from hogwild.checking import Remark, check, misfit
from hogwild.cli.main import run
from hogwild.config.settings import Settings


class Sound(gymnasium.Env[Any, Any]):
    """An environment that does everything as it should; the others each do one thing wrong."""

    observation_space: spaces.Space[Any] = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space: spaces.Space[Any] = spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.time = 0
        return self.see(), {}

    def see(self) -> Any:
        return self.np_random.uniform(-1, 1, 2).astype(np.float32)

    def step(self, action: Any) -> Any:
        self.time += 1
        return self.see(), float(action) * float(self.np_random.random()), self.time >= 10, False, {}


class NoSpace(Sound):
    action_space = None  # type: ignore[assignment]


class OddSpace(Sound):
    action_space = spaces.Text(4)


class FailsInReset(Sound):
    def reset(self, **_: Any) -> Any:
        raise RuntimeError("no level file")


class OldReset(Sound):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=seed)[0]


class WrongShape(Sound):
    def see(self) -> Any:
        return np.zeros(3, np.float32)


class WrongType(Sound):
    def see(self) -> Any:
        return [0.0, 0.0]


class WrongNumbers(Sound):
    def see(self) -> Any:
        return np.array([1j, 0])


class BeyondRange(Sound):
    def see(self) -> Any:
        return np.array([0.0, 5.0], np.float32)


class NotANumber(Sound):
    def see(self) -> Any:
        return np.array([0.0, np.nan if self.time == 5 else 0.0], np.float32)


class FourAnswers(Sound):
    def step(self, action: Any) -> Any:
        return super().step(action)[:4]


class BadReward(Sound):
    def step(self, action: Any) -> Any:
        return (self.see(), float("nan"), False, False, {})


class NumberForFlag(Sound):
    def step(self, action: Any) -> Any:
        return (self.see(), 0.0, 0, False, {})


class FailsInStep(Sound):
    def step(self, action: Any) -> Any:
        raise IndexError("list index out of range")


class IgnoresSeed(Sound):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.time = 0
        return self.see(), {}


class OwnDice(Sound):
    def see(self) -> Any:
        return super().see() if self.time < 5 else np.full(2, np.random.default_rng().uniform(), np.float32)


class NoDice(Sound):
    def see(self) -> Any:
        return np.zeros(2, np.float32)

    def step(self, action: Any) -> Any:
        self.time += 1
        return self.see(), 1.0, self.time >= 10, False, {}


class NeverEnds(Sound):
    def step(self, action: Any) -> Any:
        return (self.see(), 0.0, False, False, {})


class LargeReturns(Sound):
    def step(self, action: Any) -> Any:
        return (self.see(), 1000.0 * float(self.np_random.random()), True, False, {})


class LeavesInStep(Sound):
    def step(self, action: Any) -> Any:
        raise SystemExit(3)


class FailsInSecondReset(Sound):
    resets = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.resets += 1
        if self.resets > 1:
            raise RuntimeError("only once")
        return super().reset(seed=seed, options=options)


class Infinite(Sound):
    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def see(self) -> Any:
        return np.array([0.0, np.inf if self.time == 5 else 0.0], np.float32)


class MaskGrows(Sound):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=seed)[0], {"action_mask": np.ones(3, np.int8)}

    def step(self, action: Any) -> Any:
        return *super().step(action)[:4], {"action_mask": np.ones(4, np.int8)}


class MaskForbidsAll(MaskGrows):
    def step(self, action: Any) -> Any:
        return *super().step(action)[:4], {"action_mask": np.zeros(3, np.int8)}


class MaskComesLate(Sound):
    def step(self, action: Any) -> Any:
        return *super().step(action)[:4], {"action_mask": np.ones(3, np.int8)}


class MaskOfParts(Sound):
    """Sound: only the second of three choices is allowed, and it asserts that."""

    action_space = spaces.Tuple([spaces.Discrete(3), spaces.Box(-1, 1, (1,), np.float32)])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=seed)[0], {"action_mask": np.array([0, 1, 0], np.int8)}

    def step(self, action: Any) -> Any:
        assert action[0] == 1, "forbidden"
        return *super().step(action[0])[:4], {"action_mask": np.array([0, 1, 0], np.int8)}


class CannotDraw(Sound):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def render(self) -> Any:
        raise RuntimeError("no screen")


class Slow(Sound):
    def step(self, action: Any) -> Any:
        time.sleep(0.0015)
        return super().step(action)


class Unbounded(Sound):
    action_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)

    def step(self, action: Any) -> Any:
        return super().step(action[0])


class WithText(Sound):
    observation_space = spaces.Dict({"v": spaces.Box(-1.0, 1.0, (2,), np.float32), "mission": spaces.Text(9)})

    def see(self) -> Any:
        return {"v": super().see(), "mission": "go"}


def remarks(kind: Callable[[], gymnasium.Env[Any, Any]]) -> list[Remark]:
    name = f"hogwild-tests/{getattr(kind, '__name__', 'Broken')}-v0"
    gymnasium.register(name, kind)
    try:
        return list(check(Settings(env=name)))
    finally:
        del gymnasium.registry[name]


def test_a_sound_environment_has_nothing_against_it() -> None:
    found = remarks(Sound)
    assert {remark.level for remark in found} == {"fine"}
    words = "\n".join(remark.what for remark in found)
    assert "a policy sees 2 numbers, and acts with 3 actions" in words
    assert "200 episodes with random actions" in words
    assert "seeds are respected" in words
    assert "goes on exactly where it was" in words


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (NoSpace, "has no action_space"),
        (OddSpace, "has actions Text"),
        (FailsInReset, "fails in reset: RuntimeError: no level file"),
        (OldReset, r"reset\(\) does not answer \(observation, info\)"),
        (WrongShape, r"it has the shape \(3,\), not \(2,\)"),
        (WrongType, "it is list, not a numpy array"),
        (BeyondRange, "it has 5.0 where 1.0 is the largest"),
        (NotANumber, r"step 5: .*not a number"),
        (WrongNumbers, "its numbers are complex128, not float32"),
        (FourAnswers, "step.. does not answer five things"),
        (BadReward, "step 1: the reward is nan"),
        (NumberForFlag, "step 1: terminated is 0"),
        (FailsInStep, "fails in step 1: IndexError: list index out of range"),
        (LeavesInStep, "fails in step 1: SystemExit: 3"),
        (FailsInSecondReset, "fails when it is looked at once more: .*RuntimeError: only once"),
        (Infinite, "step 5: .*infinite"),
        (MaskGrows, "what it shows cannot be read: ValueError: the action mask has 4 entries, and there are 3 choices"),
        (MaskForbidsAll, "its action mask forbids everything"),
        (IgnoresSeed, "the same seed gives another first observation"),
    ],
)
def test_what_is_wrong_is_said(kind: Any, words: str) -> None:
    import re

    found = [remark for remark in remarks(kind) if remark.level == "wrong"]
    assert len(found) == 1
    assert re.search(words, found[0].what)
    assert found[0].advice


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (OwnDice, "the same seed and the same 200 actions lead elsewhere"),
        (NoDice, "another seed changes nothing"),
        (NoDice, "all of these episodes were alike"),
        (NeverEnds, "no episode ended in 2,000 random steps"),
        (LargeReturns, "returns reach"),
        (MaskComesLate, "step() tells an action_mask, and reset() does not"),
        (CannotDraw, "it says that it can be drawn, and fails: RuntimeError: no screen"),
        (Slow, "µs: at most"),
        (Unbounded, "have no bounds"),
        (WithText, "mission: text, which a policy does not read"),
    ],
)
def test_what_is_doubtful_is_said_and_can_be_trained_all_the_same(kind: Any, words: str) -> None:
    found = remarks(kind)
    assert not [remark for remark in found if remark.level == "wrong"]
    assert any(words in remark.what for remark in found if remark.level == "doubtful")


def test_a_mask_of_one_of_several_parts_is_respected() -> None:
    assert not [remark for remark in remarks(MaskOfParts) if remark.level != "fine"]


def test_what_training_would_refuse_is_wrong_here_too() -> None:
    found = check(Settings(env="CartPole-v1").update(encoder="a3c"))
    assert [remark.what for remark in found][-1].startswith("hogwild train refuses it: --encoder a3c")


def test_games_are_checked_as_they_are_trained(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "pong"]) == 0
    out = capsys.readouterr().out
    assert "a policy sees a picture of 2×70×80" in out
    assert "it can be drawn" in out


def test_a_constructor_that_fails_is_the_first_thing_said() -> None:
    def broken() -> Any:
        raise FileNotFoundError("map.txt")

    (only,) = remarks(broken)
    assert only.level == "wrong"
    assert only.what == "cannot be made: FileNotFoundError: map.txt"


def test_parts_that_do_not_fit_are_named() -> None:
    space = spaces.Dict({"a": spaces.Tuple([spaces.Discrete(2), spaces.Box(0, 1, (1,), np.float32)])})
    assert misfit(space, {"a": (1, np.array([0.5], np.float32))}) == ""
    assert misfit(space, {"a": (5, np.array([0.5], np.float32))}).startswith("in 'a.0' it is 5")
    assert misfit(space, {"a": (1, np.array([2.5], np.float32))}) == "in 'a.1' it has 2.5 where 1.0 is the largest"
    assert "it has no part 'a'" in misfit(space, {"b": 1})
    assert "it is list" in misfit(space, [1])


def test_the_command_says_it_and_its_exit_code_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "CartPole-v1"]) == 0
    out = capsys.readouterr().out
    assert "✔ a policy sees 4 numbers, and acts with 2 actions" in out
    assert out.endswith("CartPole-v1 can be trained: hogwild train CartPole-v1\n")
    gymnasium.register("hogwild-tests/Broken-v0", BadReward)
    try:
        assert run(["check", "hogwild-tests/Broken-v0"]) == 1
    finally:
        del gymnasium.registry["hogwild-tests/Broken-v0"]
    assert "✘ step 1: the reward is nan" in capsys.readouterr().out
