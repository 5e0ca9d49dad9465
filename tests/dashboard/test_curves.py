"""Curves against slow, obvious versions."""

import itertools

import numpy as np
import pytest

from hogwild.dashboard.curves import Wanted, games, smoothed, thin


def smoothed_by_hand(values: list[float], weight: float) -> list[float]:
    result = []
    for end in range(len(values)):
        weights = [weight ** (end - index) for index in range(end + 1)]
        result.append(sum(w * v for w, v in zip(weights, values, strict=False)) / sum(weights))
    return result


def test_smoothing_is_a_weighted_mean_of_what_came_before() -> None:
    values = np.random.default_rng(0).normal(size=30)
    assert smoothed(values, 0.7).tolist() == pytest.approx(smoothed_by_hand(values.tolist(), 0.7))
    assert smoothed(values, 0.0) is values
    gappy = smoothed(np.array([1.0, np.nan, 3.0]), 0.5)
    assert np.isnan(gappy[1])
    assert gappy[2] == pytest.approx((0.5 * 1 + 3) / 1.5)


def test_few_points_stay_as_they_are() -> None:
    x, y = np.arange(5.0), np.array([1.0, np.nan, 3.0, 4.0, 5.0])
    curve = thin(x, y, Wanted(points=10))
    assert curve.x.tolist() == [0.0, 2.0, 3.0, 4.0]
    assert curve.y.tolist() == [1.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize("log", [False, True])
def test_many_points_become_means_with_the_band_that_they_span(log: bool) -> None:
    random = np.random.default_rng(1)
    x, y = np.arange(1.0, 1001.0), random.normal(size=1000)
    wanted = Wanted(points=20, log=log)
    curve = thin(x, y, wanted)
    edges = wanted.edges(x)
    inside = [(x >= low) & (x < high) for low, high in itertools.pairwise(edges)]
    inside[-1] |= x == x[-1]
    expected = [(y[part].mean(), y[part].min(), y[part].max()) for part in inside if part.any()]
    assert len(curve.x) <= 20
    assert curve.y.tolist() == pytest.approx([mean for mean, _, _ in expected])
    assert curve.low.tolist() == pytest.approx([low for _, low, _ in expected])
    assert curve.high.tolist() == pytest.approx([high for _, _, high in expected])


def test_a_part_of_the_axis_has_a_point_beyond_each_end() -> None:
    x = np.arange(100.0)
    curve = thin(x, x, Wanted(low=40.0, high=50.0, points=600))
    assert curve.x.tolist() == list(range(39, 52))


def test_nothing_is_drawn_of_nothing() -> None:
    assert thin(np.zeros(0), np.zeros(0), Wanted()).x.tolist() == []
    assert games(np.zeros(0), np.zeros(0), Wanted()).x.tolist() == []
    assert thin(np.arange(3.0), np.full(3, np.nan), Wanted()).x.tolist() == []


def test_games_have_their_mean_and_the_band_of_most_of_them() -> None:
    returns = np.random.default_rng(2).normal(size=200)
    curve = games(np.arange(200.0), returns, Wanted(points=5))
    parts = returns.reshape(5, 40)
    assert curve.y.tolist() == pytest.approx(parts.mean(1).tolist())
    assert curve.low.tolist() == pytest.approx(np.percentile(parts, 10, axis=1).tolist())
    assert curve.high.tolist() == pytest.approx(np.percentile(parts, 90, axis=1).tolist())


def test_numbers_for_the_page_are_short_and_gaps_are_none() -> None:
    curve = thin(np.array([1.0, 123456789.0]), np.array([1 / 3, 2.0]), Wanted())
    assert curve.as_json()["y"] == [0.333333, 2.0]
    assert curve.as_json()["x"] == [1.0, 123456789.0]
