"""Statistics of a few seeds, beside versions that are slow and literal."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from hogwild.maths.comparison import (
    chance_of_such_a_lead,
    improvement_interval,
    interquartile_mean,
    mean_improvement,
    probability_of_improvement,
    stratified_interval,
)


def slow_interquartile_mean(values: Sequence[float]) -> float:
    left = sorted(values)
    for _ in range(len(values) // 4):
        left.remove(min(left))
        left.remove(max(left))
    return sum(left) / len(left)


def slow_probability(ours: Sequence[float], theirs: Sequence[float]) -> float:
    total = 0.0
    for mine in ours:
        for other in theirs:
            total += 1.0 if mine > other else 0.5 if mine == other else 0.0
    return total / (len(ours) * len(theirs))


def slow_percentile(values: Sequence[float], percent: float) -> float:
    """Linear between the two nearest ranks."""
    ranked = sorted(values)
    place = percent / 100 * (len(ranked) - 1)
    below = int(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (place - below) * (ranked[above] - ranked[below])


def slow_mean(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> float:
    return sum(slow_probability(a, b) for a, b in zip(ours, theirs, strict=True)) / len(ours)


@pytest.mark.parametrize("count", range(1, 14))
def test_the_interquartile_mean_is_the_mean_of_the_middle(count: int) -> None:
    values = np.random.default_rng(count).normal(size=(5, count))
    assert interquartile_mean(values) == pytest.approx([slow_interquartile_mean(row) for row in values.tolist()])


def test_an_outlier_does_not_move_the_interquartile_mean_but_with_three_values_it_does() -> None:
    assert interquartile_mean(np.array([1.0, 2.0, 3.0, 4.0])) == interquartile_mean(np.array([1.0, 2.0, 3.0, 4e9]))
    assert interquartile_mean(np.array([1.0, 2.0, 9.0])) == 4.0


def test_the_interquartile_mean_leaves_its_argument_as_it_was() -> None:
    values = np.array([3.0, 1.0, 2.0])
    interquartile_mean(values)
    assert values.tolist() == [3.0, 1.0, 2.0]


@pytest.mark.parametrize(("ours", "theirs"), [(1, 1), (3, 5), (8, 2)])
def test_the_probability_of_improvement_counts_pairs_and_ties_half(ours: int, theirs: int) -> None:
    random = np.random.default_rng(ours)
    left, right = random.integers(4, size=(6, ours)).astype(float), random.integers(4, size=(6, theirs)).astype(float)
    slow = [slow_probability(a, b) for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    assert probability_of_improvement(left, right) == pytest.approx(slow)
    assert probability_of_improvement(right, left) == pytest.approx([1 - value for value in slow])


def test_every_environment_counts_the_same_whatever_its_number_of_seeds() -> None:
    ours, theirs = [np.array([1.0] * 9), np.array([0.0, 2.0])], [np.array([0.0] * 9), np.array([1.0, 3.0])]
    assert mean_improvement(ours, theirs) == pytest.approx((1.0 + 0.25) / 2)


def test_the_bootstrap_comes_to_what_all_possible_resamples_come_to() -> None:
    first, second = [1.0, 4.1, 6.3, 2.6], [9.0, 12.2, 10.7]
    every = [
        slow_interquartile_mean([*a, *b])
        for a in itertools.product(first, repeat=4)
        for b in itertools.product(second, repeat=3)
    ]
    interval = stratified_interval([np.array(first), np.array(second)], resamples=100_000)
    exact = (slow_percentile(every, 2.5), slow_percentile(every, 97.5))
    assert interval == pytest.approx(exact, abs=0.1)  # neighbouring values of the exact distribution


def test_the_bootstrap_is_the_literal_one_for_its_draws() -> None:
    strata = [np.array([1.0, 4.0, 6.0, 9.0, 2.0]), np.array([10.0, 13.0])]
    random = np.random.default_rng(7)
    draws = [random.integers(len(s), size=(50, len(s))).tolist() for s in strata]
    means = []
    for row in range(50):
        resample = [strata[s][index] for s in range(2) for index in draws[s][row]]
        means.append(slow_interquartile_mean(resample))
    expected = (slow_percentile(means, 2.5), slow_percentile(means, 97.5))
    assert stratified_interval(strata, resamples=50, seed=7) == pytest.approx(expected)


def test_seeds_are_never_exchanged_between_environments() -> None:
    apart = [np.array([0.0, 0.0]), np.array([100.0, 100.0])]
    assert stratified_interval(apart) == (50.0, 50.0)
    low, high = stratified_interval([np.concatenate(apart)])
    assert (low, high) == (0.0, 100.0)


def test_another_statistic_can_be_asked_for() -> None:
    low, high = stratified_interval([np.array([1.0, 2.0, 50.0])], lambda drawn: drawn.max(axis=-1))
    assert (low, high) == (1.0, 50.0)


def test_the_interval_of_improvement_is_the_literal_one_for_its_draws() -> None:
    ours = [np.array([1.0, 4.0, 6.0]), np.array([3.0, 3.0])]
    theirs = [np.array([2.0, 4.0]), np.array([1.0, 3.0, 5.0])]
    random = np.random.default_rng(3)
    draws = [random.integers(len(s), size=(40, len(s))).tolist() for s in [*ours, *theirs]]
    drawn = [[[float(s[i]) for i in row] for row in d] for s, d in zip([*ours, *theirs], draws, strict=True)]
    means = [slow_mean([drawn[0][r], drawn[1][r]], [drawn[2][r], drawn[3][r]]) for r in range(40)]
    expected = (slow_percentile(means, 2.5), slow_percentile(means, 97.5))
    assert improvement_interval(ours, theirs, resamples=40, seed=3) == pytest.approx(expected)


def test_the_interval_of_improvement_tells_overlapping_methods_from_separate_ones() -> None:
    same = np.arange(8.0)
    low, high = improvement_interval([same], [same])
    assert low < 0.5 < high
    assert improvement_interval([same + 100], [same]) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ([[3.0, 4.0, 5.0]], [[0.0, 1.0, 2.0]]),
        ([[3.0, 1.0, 5.0, 6.0]], [[0.0, 1.0, 2.0]]),
        ([[3.0, 4.0], [7.0, 1.0]], [[1.0, 2.0], [0.0, 3.0]]),
    ],
)
def test_the_chance_of_a_lead_is_its_share_of_all_arrangements(
    ours: list[list[float]], theirs: list[list[float]]
) -> None:
    found = abs(slow_mean(ours, theirs) - 0.5)
    each = [list(itertools.permutations([*a, *b])) for a, b in zip(ours, theirs, strict=True)]
    hits = total = 0
    for arrangement in itertools.product(*each):
        left = [a[: len(mine)] for a, mine in zip(arrangement, ours, strict=True)]
        right = [a[len(mine) :] for a, mine in zip(arrangement, ours, strict=True)]
        hits += abs(slow_mean(left, right) - 0.5) >= found - 1e-9
        total += 1
    fast = chance_of_such_a_lead([np.array(a) for a in ours], [np.array(b) for b in theirs])
    assert fast == pytest.approx(hits / total, abs=0.015)


def test_equal_methods_are_told_apart_in_five_of_a_hundred_cases_at_most() -> None:
    random = np.random.default_rng(1)
    draws = random.normal(size=(400, 2, 5))
    wrong = sum(chance_of_such_a_lead([a], [b], shuffles=500) <= 0.05 for a, b in draws)
    assert 0.01 <= wrong / 400 <= 0.075


def test_all_that_is_drawn_repeats_with_its_seed_and_not_with_another() -> None:
    ours, theirs = [np.array([1.0, 4.0, 6.5, 7.0])], [np.array([2.0, 4.5, 5.0])]
    for drawn in (
        lambda seed: stratified_interval(ours, resamples=30, seed=seed),
        lambda seed: improvement_interval(ours, theirs, resamples=30, seed=seed),
        lambda seed: chance_of_such_a_lead(ours, theirs, shuffles=999, seed=seed),
    ):
        assert drawn(5) == drawn(5)
        assert len({drawn(seed) for seed in range(6)}) > 1
