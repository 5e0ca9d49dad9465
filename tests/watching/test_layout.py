"""Scenes on a screen: nothing beyond its edges, and what is said is what happened."""

import re
from dataclasses import replace

import numpy as np
import pytest

from hogwild.watching.layout import draw, fit, thoughts
from hogwild.watching.scene import Scene

SCENE = Scene(
    title="worker 0",
    picture=np.zeros((210, 160, 3), dtype=np.uint8),
    wide=4 / 3,
    numbers=None,
    seen=np.zeros((2, 70, 80), dtype=np.uint8),
    actions=("noop", "up", "down"),
    are_numbers=(False, False, False),
    probabilities=np.array([0.25, 0.5, 0.25]),
    taken=np.array([0.0, 1.0, 0.0]),
    value=0.5,
    score=-3.0,
    length=70,
)


def screen_of(text: str) -> dict[int, dict[int, str]]:
    """Characters by row and column, as a terminal places them."""
    cells: dict[int, dict[int, str]] = {}
    row = column = 0
    for match in re.finditer(r"\x1b\[(\d+);(\d+)H|\x1b\[[\d;]*[mK]|(.)", text):
        if match[1]:
            row, column = int(match[1]) - 1, int(match[2]) - 1
        elif match[3]:
            cells.setdefault(row, {})[column] = match[3]
            column += 1
    return cells


@pytest.mark.parametrize("size", [(24, 80), (50, 200), (12, 40)])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_everything_fits_on_the_screen(size: tuple[int, int], count: int) -> None:
    cells = screen_of(draw([SCENE] * count, size, "blocks", (20, 10), "status " * 50))
    assert max(cells) <= size[0] - 1
    assert all(max(row) <= size[1] - 1 for row in cells.values())


def test_what_the_agent_thinks_is_shown() -> None:
    lines = thoughts(SCENE, 40)
    assert lines[0].startswith("return -3 after 70 steps · value +0.50")
    assert lines[2].startswith("▶ up"), "the action that was taken is marked"
    bars = [line.count("█") for line in lines[1:]]
    assert bars[1] == 2 * bars[0] > 0
    assert lines[2].endswith("50%")


def test_a_view_that_has_nothing_yet_says_so_and_numbers_are_drawn_as_bars() -> None:
    text = draw([None, replace(SCENE, picture=None, numbers=np.array([1.0, -1.0]))], (24, 80), "blocks", (20, 10), "")
    cells = screen_of(text)
    line = "".join(cells[1].get(column, " ") for column in range(80))
    assert "waiting" in line
    assert "+1.000" in line


def test_a_picture_keeps_its_shape() -> None:
    rows, columns = fit(2.0, rows=10, columns=100)
    assert (rows, columns) == (10, 40), "a character is half as wide as high"
    assert fit(2.0, rows=10, columns=20) == (5, 20)


def test_graphics_are_used_where_there_are_any() -> None:
    assert "\x1b_G" in draw([SCENE], (24, 80), "kitty", (20, 10), "")
    assert "\x1bPq" in draw([SCENE], (24, 80), "sixel", (20, 10), "")
