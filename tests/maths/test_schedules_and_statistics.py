import math

import numpy as np
import pytest

from hogwild.maths.schedules import linear
from hogwild.maths.statistics import mean_with_interval, student_t_95


@pytest.mark.parametrize(("step", "expected"), [(0, 1.0), (25, 0.775), (100, 0.1), (1000, 0.1), (-5, 1.0)])
def test_a_linear_schedule_goes_straight_to_its_end_and_stays(step: int, expected: float) -> None:
    assert linear(1.0, 0.1, 100, step) == pytest.approx(expected)


def test_no_schedule_is_constant_to_the_bit() -> None:
    assert linear(7e-4, 1.0, 1000, 777) == 7e-4
    assert linear(7e-4, 0.0, 0, 777) == 7e-4


@pytest.mark.parametrize(
    ("degrees", "expected"), [(1, 12.7062), (5, 2.5706), (10, 2.2281), (11, 2.2010), (29, 2.0452), (99, 1.9842)]
)
def test_quantiles_of_students_t_are_those_of_the_tables(degrees: int, expected: float) -> None:
    assert student_t_95(degrees) == pytest.approx(expected, abs=1e-3)


def test_the_interval_covers_the_mean_in_95_of_100_cases() -> None:
    random = np.random.default_rng(0)
    covered = 0
    for _ in range(2000):
        mean, half = mean_with_interval(random.normal(3.0, 2.0, size=12).tolist())
        covered += abs(mean - 3.0) <= half
    assert 0.935 <= covered / 2000 <= 0.965


def test_one_value_has_a_mean_and_no_interval() -> None:
    mean, half = mean_with_interval([4.0])
    assert mean == 4.0
    assert math.isnan(half)
