"""Scenes side by side on a screen of text: pictures above, what the agent thinks below."""

import numpy as np

from hogwild.watching.pictures import half_blocks, kitty, sixel
from hogwild.watching.scene import Scene

CELL_ASPECT = 0.5  # a character is half as wide as high
BAR = "█"
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def draw(scenes: list[Scene | None], size: tuple[int, int], graphics: str, cell: tuple[int, int], status: str) -> str:
    """The whole screen: every scene in a column of its own, and a last line of status."""
    rows, columns = size
    width = columns // max(1, len(scenes))
    parts = []
    for number, scene in enumerate(scenes):
        left = number * width
        if scene is None:
            parts.append(_at(1, left) + f"{DIM}{'waiting for the first moment …'[: width - 1]}{PLAIN}\x1b[K")
            continue
        lines = thoughts(scene, width - 2)
        space = max(1, rows - len(lines) - 3)
        parts.append(_at(0, left) + f"{BOLD}{scene.title[: width - 1].ljust(width - 1)}{PLAIN}")
        parts.append(_picture(scene, space, width - 2, left, (graphics, cell, number + 1)))
        parts += [_at(space + 1 + index, left) + line for index, line in enumerate(lines)]
    parts.append(_at(rows - 1, 0) + f"{DIM}{status[: columns - 1]}{PLAIN}\x1b[K")
    return "".join(parts)


def _at(row: int, column: int) -> str:
    return f"\x1b[{row + 1};{column + 1}H"


def fit(wide: float, rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns of a picture that is so many times as wide as high, as large as fits.

    >>> fit(4 / 3, rows=30, columns=200), fit(4 / 3, rows=30, columns=40)
    ((30, 80), (15, 40))
    """
    wanted = max(1, round(rows * wide / CELL_ASPECT))
    if wanted <= columns:
        return rows, wanted
    return max(1, round(columns * CELL_ASPECT / wide)), columns


def _picture(scene: Scene, rows: int, columns: int, left: int, screen: tuple[str, tuple[int, int], int]) -> str:
    if scene.picture is None:
        return "".join(
            _at(1 + index, left) + line.ljust(columns)
            for index, line in enumerate(numbers(scene.numbers, rows, columns))
        )
    graphics, cell, number = screen
    high, broad = fit(scene.wide, rows, columns)
    if graphics == "kitty":
        return _at(1, left) + kitty(scene.picture, high, broad, number)
    if graphics == "sixel":
        return _at(1, left) + sixel(scene.picture, high * cell[0], broad * cell[1])
    lines = half_blocks(scene.picture, high, broad)
    return "".join(_at(1 + index, left) + line for index, line in enumerate(lines))


def thoughts(scene: Scene, width: int) -> list[str]:
    """Return so far, value, and a bar for the probability of each action, of which the one that was taken is marked;
    of actions that are numbers, a bar for each as it was taken."""
    lines = [f"return {scene.score:g} after {scene.length} steps · value {scene.value:+.2f}"[:width].ljust(width)]
    names = max(map(len, scene.actions))
    room = max(1, width - names - 9)
    shown = zip(scene.actions, scene.are_numbers, scene.probabilities.tolist(), scene.taken.tolist(), strict=True)
    for name, is_number, share, taken in shown:
        if is_number:
            lines.append(f"  {name:<{names}} {_around_zero(taken, max(1, room - 4))} {taken:+8.2f}"[:width])
            continue
        bar = (BAR * round(share * room)).ljust(room)
        lines.append(f"{'▶' if taken else ' '} {name:<{names}} {bar} {share:4.0%}"[:width])
    return lines


def _around_zero(value: float, room: int) -> str:
    """A bar to the left or right of the middle, for a number between -1 and 1."""
    half = max(1, (room - 1) // 2)
    length = round(min(1.0, abs(value)) * half) if np.isfinite(value) else 0
    left, right = (BAR * length, "") if value < 0 else ("", BAR * length)
    return f"{left:>{half}}│{right:<{half}}"


def numbers(values: np.ndarray | None, rows: int, columns: int) -> list[str]:
    """An observation that is no picture: each number with a bar to the left or right of the middle.

    >>> numbers(np.array([0.5, -1.0]), rows=5, columns=24)
    ['  +0.500        │████   ', '  -1.000 ███████│       ']
    """
    shown = np.zeros(0) if values is None else values[:rows]
    half = max(1, (columns - 9) // 2)
    largest = float(np.abs(shown).max(initial=0.0)) or 1.0
    lines = []
    for value in shown.tolist():
        lines.append(f"{value:>+8.3f} {_around_zero(value / largest, 2 * half + 1)}")
    return lines
