"""Comparing runs: which are one method, how curves become a line, and that no verdict claims more than the seeds."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hogwild
from hogwild.comparison import Comparison, compare
from hogwild.comparison_runs import common_stem, find_runs, read_course, speedups
from hogwild.config.settings import Settings
from hogwild.errors import UsageError
from hogwild.maths.comparison import interquartile_mean
from hogwild.runs.folder import RunFolder
from hogwild.runs.writers import read_episodes

FEW: dict[str, Any] = {"engine": "inline", "workers": 1, "steps": 2000, "envs": 4, "log_seconds": 0.05}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two methods, two seeds each."""
    runs = tmp_path_factory.mktemp("trained")
    for rate in (0.001, 0.01):
        for seed in (0, 1):
            name = f"rate{rate}-seed{seed}"
            hogwild.train("CartPole-v1", runs=str(runs), name=name, seed=seed, learning_rate=rate, **FEW)
    return runs


def write_run(root: Path, run: str, returns: Sequence[float], seconds: float = 60.0, **settings: Any) -> RunFolder:
    """A run whose mean return at step 100, 200, … is given; a minute, ten updates and 100 games for every row."""
    folder = RunFolder(root / run)
    folder.create()
    folder.write_settings(Settings().update(**{"env": "CartPole-v1", "workers": 1} | settings))
    rows = [
        {
            "progress/steps": 100 * i,
            "progress/seconds": seconds * i,
            "progress/updates": 10 * i,
            "episode/count": 100 * i,
            "episode/return_mean": value,
        }
        for i, value in enumerate(returns, start=1)
    ]
    folder.metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def write_method(runs: Path, name: str, ends: Sequence[float], **settings: Any) -> None:
    """Seeds that go from 0 to these returns in 1,000 steps."""
    for seed, end in enumerate(ends):
        write_run(runs, f"{name}-seed{seed}", np.linspace(0, end, 10).tolist(), seed=seed, **settings)


def compare_all(runs: Path, **options: Any) -> Comparison:
    return compare(["*"], folder=str(runs), **options)


def test_real_runs_become_methods_by_their_settings_whatever_their_seed(trained: Path) -> None:
    compared = compare_all(trained)
    assert [m.label for m in compared.methods] == ["rate0.001", "rate0.01"]
    assert [m.settings for m in compared.methods] == [{"learning_rate": (0.001,)}, {"learning_rate": (0.01,)}]
    assert [[c.settings["seed"] for c in m.courses] for m in compared.methods] == [[0, 1], [0, 1]]
    assert compared.environments == ["CartPole-v1"]
    assert compared.score == "return"


def test_the_end_of_a_real_curve_is_the_mean_of_its_last_hundred_games(trained: Path) -> None:
    for folder in find_runs(["*"], str(trained)):
        games = [float(row[3]) for row in read_episodes(folder.episodes)]
        assert read_course(folder).returns[-1] == pytest.approx(np.mean(games[-100:]))


def test_real_runs_have_speed_and_every_axis(trained: Path) -> None:
    (course, *_) = [read_course(f) for f in find_runs(["rate0.01-seed0"], str(trained))]
    status = json.loads((trained / "rate0.01-seed0" / "status.json").read_text())
    assert course.axes["steps"][-1] == status["steps"]
    # The last row is written before the last checkpoint, the status after it.
    seconds = course.axes["minutes"][-1] * 60
    assert seconds == pytest.approx(status["seconds"], rel=0.2, abs=1.0)
    assert course.steps_per_second == pytest.approx(status["steps"] / seconds, rel=0.2)
    assert all(len(axis) == len(course.returns) and (np.diff(axis) >= 0).all() for axis in course.axes.values())


@pytest.mark.parametrize(
    ("names", "stem"),
    [
        (["cart-seed0", "cart-seed1"], "cart"),
        (["a32x4-s0", "a32x4-s1"], "a32x4"),
        (["lr3-0", "lr3-1"], "lr3"),
        (["x_10", "x_11"], "x"),
        (["cartpole-v1-seed0-20261116-012526", "cartpole-v1-seed1-20261116-012606"], "cartpole-v1"),
        (["alone-seed3"], "alone-seed3"),
        (["one", "two"], ""),
    ],
)
def test_the_stem_of_names_is_what_their_seeds_share(names: list[str], stem: str) -> None:
    assert common_stem(names) == stem


def test_methods_whose_names_say_nothing_are_called_by_their_settings(tmp_path: Path) -> None:
    for index, changes in enumerate(({}, {"exchange": "gradients"}, {"exchange": "gradients", "lock": "turns"})):
        for seed in (0, 1):
            write_run(tmp_path, f"{chr(97 + 2 * index + seed)}", [1, 2], seed=seed, **changes)
    labels = [m.label for m in compare_all(tmp_path).methods]
    assert labels == ["exchange=weights, lock=free", "exchange=gradients, lock=free", "exchange=gradients, lock=turns"]


def test_a_stem_that_two_methods_share_names_neither(tmp_path: Path) -> None:
    for index, lock in enumerate(("free", "turns")):
        for seed in (0, 1):
            write_run(tmp_path, f"cartpole-v1-seed{seed}-20261116-01252{index}", [1, 2], seed=seed, lock=lock)
    assert [m.label for m in compare_all(tmp_path).methods] == ["lock=free", "lock=turns"]


def test_a_label_of_many_settings_names_only_the_uncommon_ones(tmp_path: Path) -> None:
    changes: list[dict[str, Any]] = [{"lock": "turns"}, {"entropy": 0.5}, {"split": True}]
    for index, change in enumerate(changes):
        for seed in (0, 1):
            write_run(tmp_path, f"{chr(97 + 2 * index + seed)}", [1, 2], seed=seed, **change)
    assert [m.label for m in compare_all(tmp_path).methods] == ["lock=turns", "entropy=0.5", "split=True"]


def test_what_is_only_written_down_differently_is_the_same_method(tmp_path: Path) -> None:
    write_run(tmp_path, "x-seed0", [1, 2], seed=0, log_seconds=1, runs="here")
    write_run(tmp_path, "x-seed1", [1, 2], seed=1, log_seconds=9, runs="there")
    assert [len(m.courses) for m in compare_all(tmp_path).methods] == [2]


def test_a_run_given_twice_counts_once(tmp_path: Path) -> None:
    write_method(tmp_path, "x", [1, 2])
    compared = compare(["x-seed0", "x*", tmp_path / "x-seed1"], folder=str(tmp_path))
    assert [c.name for c in compared.methods[0].courses] == ["x-seed0", "x-seed1"]


def test_returns_are_compared_where_the_shortest_run_ends(tmp_path: Path) -> None:
    write_run(tmp_path, "short", [10, 20], lock="turns")
    write_run(tmp_path, "long", [1, 2, 3, 4])
    compared = compare_all(tmp_path)
    assert compared.at == 200
    assert {m.label: m.value for m in compared.methods} == {"short": 20, "long": 2}


def test_another_place_can_be_asked_for_and_lies_straight_between_rows(tmp_path: Path) -> None:
    write_run(tmp_path, "a", [10, 20])
    assert compare_all(tmp_path, at=150).methods[0].value == 15
    assert compare_all(tmp_path, at=1.25, by="minutes").methods[0].value == 12.5
    assert compare_all(tmp_path, at=17.5, by="updates").methods[0].value == 17.5
    assert compare_all(tmp_path, at=110, by="episodes").methods[0].value == 11


@pytest.mark.parametrize("at", [0.0, -5.0, 201.0])
def test_a_place_that_not_all_runs_have_come_to_is_refused(tmp_path: Path, at: float) -> None:
    write_run(tmp_path, "a", [10, 20])
    with pytest.raises(UsageError, match="200 steps, where 'a' ends"):
        compare_all(tmp_path, at=at)


def test_an_unknown_axis_is_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    write_run(tmp_path, "a", [10, 20])
    with pytest.raises(UsageError, match="did you mean 'minutes'"):
        compare_all(tmp_path, by="minuts")


def test_the_line_of_a_method_runs_where_all_its_seeds_are(tmp_path: Path) -> None:
    write_run(tmp_path, "x-seed0", [0, 10, 20, 30], seed=0)
    late = write_run(tmp_path, "x-seed1", [0, 30, 60], seed=1)
    late.metrics.write_text("".join(late.metrics.read_text().splitlines(keepends=True)[1:]))
    (method,) = compare_all(tmp_path).methods
    line = method.line
    assert (line.x[0], line.x[-1]) == (200, 300)
    assert (line.middle[0], line.middle[-1]) == (20, 40)
    assert (line.low[0], line.high[0], line.low[-1], line.high[-1]) == (10, 30, 20, 60)
    assert line.band == "lowest to highest"


def test_four_seeds_have_an_interquartile_mean_and_a_bootstrap_band(tmp_path: Path) -> None:
    ends = [1.0, 2.0, 4.0, 100.0]
    write_method(tmp_path, "x", ends)
    (method,) = compare_all(tmp_path).methods
    assert (method.statistic, method.line.band) == ("interquartile mean", "bootstrap 95 %")
    assert method.value == method.line.middle[-1] == interquartile_mean(np.array(ends)) == 3.0
    assert method.interval is not None
    assert 1.0 <= method.interval[0] < 3.0 < method.interval[1] <= 100.0
    line = method.line
    assert all(low <= middle <= high for low, middle, high in zip(line.low, line.middle, line.high, strict=True))


def test_fewer_seeds_have_a_plain_mean_and_it_is_said(tmp_path: Path) -> None:
    write_method(tmp_path, "x", [1.0, 2.0, 9.0])
    compared = compare_all(tmp_path)
    assert (compared.methods[0].statistic, compared.methods[0].value) == ("mean", 4.0)
    assert any("plain mean" in note for note in compared.notes)


def test_one_seed_has_no_interval_and_gets_no_verdict(tmp_path: Path) -> None:
    write_run(tmp_path, "good", [0, 500], lock="turns")
    write_run(tmp_path, "bad", [0, 1])
    compared = compare_all(tmp_path)
    assert [m.interval for m in compared.methods] == [None, None]
    (pair,) = compared.pairs
    assert pair.verdict == "bad and good: one seed each: no verdict"
    assert pair.better is None


def test_one_seed_against_many_gets_no_verdict_either(tmp_path: Path) -> None:
    write_method(tmp_path, "many", range(100, 110))
    write_run(tmp_path, "one", np.linspace(0, 1, 10).tolist(), lock="turns")
    (pair,) = compare_all(tmp_path).pairs
    assert pair.verdict == "many and one: one seed of one: no verdict"
    assert (pair.better, pair.probability) == (None, 1.0)


def test_copies_of_one_seed_are_one_seed(tmp_path: Path) -> None:
    for copy in range(6):
        write_run(tmp_path, f"a{copy}", [0, 100 + copy], seed=0)
        write_run(tmp_path, f"b{copy}", [0, copy], seed=0, lock="turns")
    compared = compare_all(tmp_path)
    assert compared.pairs[0].verdict.endswith("one seed each: no verdict")
    assert any("same seed" in note for note in compared.notes)


@pytest.mark.parametrize("flip", [False, True])
def test_methods_whose_seeds_lie_apart_are_told_apart(tmp_path: Path, flip: bool) -> None:
    high, low = [90.0, 95, 100, 105, 110], [10.0, 15, 20, 92, 30]
    write_method(tmp_path, "a", low if flip else high)
    write_method(tmp_path, "b", high if flip else low, lock="turns")
    (pair,) = compare_all(tmp_path).pairs
    better, worse = ("b", "a") if flip else ("a", "b")
    assert pair.better == better
    assert pair.probability == pytest.approx(0.04 if flip else 0.96)
    assert pair.verdict.startswith(f"{better} is better than {worse} at 1,000 steps (P = 0.96, interval 0.")
    assert pair.verdict.endswith("–1.00)")


def test_methods_whose_seeds_overlap_are_not(tmp_path: Path) -> None:
    write_method(tmp_path, "a", [10, 20, 30, 40, 50])
    write_method(tmp_path, "b", [15, 25, 5, 45], lock="turns")
    (pair,) = compare_all(tmp_path).pairs
    assert pair.better is None
    assert pair.verdict.startswith("a and b are not distinguishable with 5 and 4 seeds at 1,000 steps (P = 0.6")


@pytest.mark.parametrize(("seeds", "chance"), [(2, 1 / 3), (3, 1 / 10)])
def test_two_or_three_seeds_that_lie_apart_by_chance_win_nothing(tmp_path: Path, seeds: int, chance: float) -> None:
    write_method(tmp_path, "a", np.arange(100, 100 + seeds).tolist())
    write_method(tmp_path, "b", np.arange(seeds).tolist(), lock="turns")
    (pair,) = compare_all(tmp_path).pairs
    assert pair.interval == (1.0, 1.0)  # so the bootstrap alone would call it
    assert pair.chance == pytest.approx(chance, abs=0.02)
    assert pair.better is None
    assert f"not distinguishable with {seeds} seeds each" in pair.verdict
    assert f"chance alone does this in {100 * pair.chance:.2g} % of cases" in pair.verdict


def test_several_environments_are_strata_when_all_methods_saw_them(tmp_path: Path) -> None:
    for env, scale in (("CartPole-v1", 1.0), ("Acrobot-v1", 1000.0)):
        write_method(tmp_path, f"{env}-a", [8 * scale, 9 * scale, 10 * scale], env=env)
        write_method(tmp_path, f"{env}-b", [1 * scale, 2 * scale, 3 * scale], env=env, lock="turns")
    compared = compare_all(tmp_path)
    assert compared.score == "normalised return"
    assert [(m.label, len(m.courses)) for m in compared.methods] == [("lock=free", 6), ("lock=turns", 6)]
    assert [m.value for m in compared.methods] == [pytest.approx(0.9), pytest.approx(0.2)]
    assert compared.pairs[0].better == "lock=free"  # three seeds twice are enough where three seeds once were not
    assert "normalised" in compared.notes[0]


def test_methods_in_different_environments_are_not_compared(tmp_path: Path) -> None:
    write_method(tmp_path, "cart", [1, 2, 3, 4, 5])
    write_method(tmp_path, "acro", [101, 102, 103, 104, 105], env="Acrobot-v1")
    compared = compare_all(tmp_path)
    assert [m.settings["env"] for m in compared.methods] == ["Acrobot-v1", "CartPole-v1"]
    assert compared.pairs[0].verdict == "acro and cart: different environments: no verdict"


def test_reaching_is_the_median_over_all_seeds_those_that_never_came_included(tmp_path: Path) -> None:
    for seed, returns in enumerate(([0, 50, 50], [0, 0, 50], [0, 0, 0])):
        write_run(tmp_path, f"x-seed{seed}", returns, seed=seed)
    (method,) = compare_all(tmp_path, reach=[60, 50]).methods
    first, second = method.reached
    assert (first.score, first.seeds, first.steps, first.minutes) == (50, 2, 300, 3)
    assert (second.score, second.seeds, second.steps, second.minutes) == (60, 0, None, None)


def test_a_return_of_fewer_than_a_hundred_games_has_not_been_reached(tmp_path: Path) -> None:
    folder = write_run(tmp_path, "x", [70, 60, 80])
    folder.metrics.write_text(folder.metrics.read_text().replace('"episode/count": 100,', '"episode/count": 99,'))
    (method,) = compare_all(tmp_path, reach=[65]).methods
    assert method.reached[0].steps == 300


def test_returns_worth_timing_are_round_and_on_the_way(tmp_path: Path) -> None:
    write_method(tmp_path, "x", [487, 491])
    assert [r.score for r in compare_all(tmp_path).methods[0].reached] == [240, 370, 440]


def test_a_run_that_never_changes_has_no_returns_worth_timing(tmp_path: Path) -> None:
    write_run(tmp_path, "x", [7, 7, 7])
    assert compare_all(tmp_path).methods[0].reached == []


def test_a_run_without_a_finished_episode_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path, "empty", [])
    with pytest.raises(UsageError, match="'empty' has no finished episode yet"):
        compare_all(tmp_path)


def test_rows_that_are_no_numbers_are_passed_over(tmp_path: Path) -> None:
    folder = write_run(tmp_path, "x", [1, 2, 3])
    folder.metrics.write_text(
        folder.metrics.read_text().replace('"episode/return_mean": 3', '"episode/return_mean": NaN')
    )
    assert read_course(folder).returns.tolist() == [1, 2]


def test_speed_is_told_beside_that_of_the_fewest_workers(tmp_path: Path) -> None:
    for workers, seconds in ((2, 30.0), (1, 60.0), (4, 20.0)):
        for seed in (0, 1):
            write_run(tmp_path, f"w{workers}-{seed}", [1, 2], seconds, seed=seed, workers=workers)
    write_run(tmp_path, "other", [1, 2], lock="turns")  # with one number of workers only: no series
    speeds = speedups([read_course(f) for f in find_runs(["*"], str(tmp_path))])
    assert [(s.workers, s.seeds, s.relative) for s in speeds] == [(1, 2, 1.0), (2, 2, 2.0), (4, 2, pytest.approx(3.0))]
    assert speeds[0].steps_per_second == pytest.approx(100 / 60)


def test_a_speed_up_needs_different_numbers_of_workers(tmp_path: Path) -> None:
    write_method(tmp_path, "x", [1, 2])
    with pytest.raises(UsageError, match="differ in their number of workers"):
        speedups([read_course(f) for f in find_runs(["*"], str(tmp_path))])


def test_when_a_return_was_reached_is_read_from_the_games_not_from_the_rows(tmp_path: Path) -> None:
    """Rows come every two seconds; a fast run plays thousands of steps in between."""
    run = hogwild.train("CartPole-v1", engine="inline", workers=1, steps=6000, log_seconds=60.0, runs=str(tmp_path))
    course = read_course(run.folder)
    rows = read_episodes(run.folder.episodes)
    returns = [float(row[3]) for row in rows]
    means = {i: sum(returns[i - 99 : i + 1]) / 100 for i in range(99, len(rows))}
    wanted = sorted(means.values())[len(means) // 2]
    first = next(i for i, mean in means.items() if mean >= wanted)
    assert course.first_at(wanted, "steps") == float(rows[first][0])
    assert course.first_at(wanted, "episodes") == first + 1
    assert course.first_at(wanted, "minutes") == pytest.approx(float(rows[first][1]) / 60)
    assert course.first_at(1e9, "steps") == math.inf
