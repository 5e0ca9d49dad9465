"""Where a run stands among reference runs, and how long it will take."""

import math
import time

import pytest

from hogwild.cli.words import Expectation
from hogwild.progress import Progress
from hogwild.reference import Reference, find_reference, make_reference
from hogwild.report import Report
from hogwild.resolve import layer, resolve

LINE = make_reference([[(0, -20.0), (1000, 20.0)]], points=101)
STRAIGHT = Reference(**{name: tuple(LINE[name]) for name in ("steps", "low", "middle", "high")}, seeds=1)


def test_a_reference_is_the_median_of_its_seeds_and_their_range() -> None:
    curves = [[(0, 0.0), (100, value)] for value in (1.0, 2.0, 9.0)]
    made = make_reference(curves, points=2)
    assert (made["steps"], made["low"], made["middle"], made["high"]) == ([0, 100], [0, 1], [0, 2], [0, 9])


def test_a_seed_that_was_done_early_keeps_its_last_return() -> None:
    made = make_reference([[(0, 0.0), (50, 4.0)], [(0, 0.0), (100, 4.0)]], points=3)
    assert made["high"] == [0, 4, 4]


@pytest.mark.parametrize(
    ("steps", "mean", "left"),
    [
        (500, 0.0, 500),  # as the reference
        (1000, 0.0, 1000),  # at half its pace
        (250, 0.0, 250),  # at twice its pace
        (50, -20.0, 950),  # nothing learned yet, nor had the reference
        (400, -20.0, 900),  # nothing learned yet, but the reference had: it is still all to come
        (900, 20.0, 0),
        (9000, 0.0, 2000),  # so slow is chance: four times the reference's time at most
    ],
)
def test_steps_left_are_those_of_the_reference_at_the_pace_of_the_run(steps: int, mean: float, left: float) -> None:
    assert STRAIGHT.steps_left(steps, mean, wanted=20.0) == pytest.approx(left, rel=0.03)


def test_what_the_reference_never_had_is_not_promised() -> None:
    assert STRAIGHT.steps_left(500, 0.0, wanted=30.0) == math.inf


def test_pong_has_a_reference_that_got_there_and_other_games_have_none() -> None:
    pong = find_reference(resolve(layer("pong")))
    assert pong is not None
    assert pong.seeds >= 3
    assert pong.at(0)[1] < -19
    assert 100_000 < pong.steps_to(18) < 2_000_000
    assert all(low <= middle <= high for low, middle, high in zip(pong.low, pong.middle, pong.high, strict=True))
    assert find_reference(resolve(layer("CartPole-v1"))) is None


def test_a_run_says_where_it_stands_and_when_it_will_be_done() -> None:
    resolved = resolve(layer("pong"))
    reference, progress = find_reference(resolved), Progress(frames_per_step=4)
    assert reference is not None
    steps = round(reference.steps_to(0.0))
    assert Expectation(resolved).words(progress) == ""
    progress.take(Report(0, steps, episodes=[(0.0, 2000)]), steps, 10)
    progress.started = time.monotonic() - steps / 1000  # a thousand steps a second
    words = Expectation(resolved).words(progress)
    left = round(reference.steps_to(18.5) - steps) // 1000
    assert words.startswith(f"reference {reference.at(steps)[1]:.1f} here (")
    minutes, seconds = words.removeprefix(words.split(", ")[0] + ", 18.5 in about ").split(":")
    assert int(minutes) * 60 + int(seconds) == pytest.approx(left, abs=3)


def test_where_there_is_no_goal_only_the_place_is_told() -> None:
    resolved, progress = resolve(layer("pong", steps=1000)), Progress(frames_per_step=4)
    progress.take(Report(0, 500, episodes=[(-21.0, 800)]), 500, 1)
    assert Expectation(resolved).words(progress).endswith(")")
