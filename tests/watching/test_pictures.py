"""Pictures as text, read back as a terminal would."""

import base64
import re
import zlib

import numpy as np
import pytest

from hogwild.images import as_colours
from hogwild.watching.pictures import half_blocks, kitty, resize, sixel

RANDOM = np.random.default_rng(0)


def test_enlarging_repeats_and_shrinking_averages() -> None:
    picture = RANDOM.integers(0, 256, (6, 4, 3), dtype=np.uint8)
    assert (resize(picture, 12, 8)[::2, ::2] == picture).all()
    blocks = picture.reshape(3, 2, 2, 2, 3).astype(np.float32).mean((1, 3))
    assert np.abs(resize(picture, 3, 2).astype(np.float32) - blocks).max() <= 1.0, "no more than rounding"
    assert resize(picture, 5, 7).shape == (5, 7, 3)


def test_half_blocks_have_the_colours_of_the_pixels() -> None:
    picture = RANDOM.integers(0, 256, (8, 5, 3), dtype=np.uint8)
    read = np.zeros_like(picture)
    for row, line in enumerate(half_blocks(picture, 4, 5)):
        colours = re.findall(r"38;2;(\d+);(\d+);(\d+);48;2;(\d+);(\d+);(\d+)m(▀+)", line)
        column = 0
        for *numbers, blocks in colours:
            for _ in blocks:
                read[2 * row, column], read[2 * row + 1, column] = numbers[:3], numbers[3:]
                column += 1
        assert column == 5
    assert (read == picture).all()


@pytest.mark.parametrize("shape", [(4, 4, 3), (210, 160, 3)])
def test_kitty_gets_the_picture_as_it_is(shape: tuple[int, int, int]) -> None:
    picture = RANDOM.integers(0, 256, shape, dtype=np.uint8)
    text = kitty(picture, rows=10, columns=20, number=3)
    messages = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", text)
    control = dict(pair.split("=") for pair in messages[0][0].split(","))
    assert (control["s"], control["v"], control["c"], control["r"]) == (str(shape[1]), str(shape[0]), "20", "10")
    assert all(len(data) <= 4096 for _, data in messages)
    assert [head[-3:] for head, _ in messages] == ["m=1"] * (len(messages) - 1) + ["m=0"]
    data = zlib.decompress(base64.b64decode("".join(data for _, data in messages)))
    assert (np.frombuffer(data, np.uint8).reshape(shape) == picture).all()


def read_sixel(text: str, height: int, width: int) -> np.ndarray:
    """A slow literal reader of sixels."""
    body = text.removeprefix('\x1bPq"').removesuffix("\x1b\\")
    palette: dict[int, list[int]] = {}
    picture = np.full((height, width, 3), -1)
    x = y = colour = 0
    for match in re.finditer(r"#(\d+);2;(\d+);(\d+);(\d+)|#(\d+)|!(\d+)(.)|(\$)|(-)|([?-~])", body[body.index("#") :]):
        number, red, green, blue, chosen, repeat, repeated, back, down, single = match.groups()
        if number:
            palette[int(number)] = [int(red), int(green), int(blue)]
        elif chosen:
            colour = int(chosen)
        elif back:
            x = 0
        elif down:
            x, y = 0, y + 6
        else:
            bits, length = ord(repeated or single) - 63, int(repeat or 1)
            for bit in range(6):
                if bits >> bit & 1:
                    picture[y + bit, x : x + length] = palette[colour]
            x += length
    return picture


@pytest.mark.parametrize(("shape", "off"), [((14, 9), 2), ((26, 20), 28)])  # percents; half of one of five steps
def test_sixels_paint_every_pixel_once_and_few_colours_as_they_are(shape: tuple[int, int], off: int) -> None:
    picture = RANDOM.integers(0, 256, (*shape, 3), dtype=np.uint8)  # some bands and a bit
    read = read_sixel(sixel(picture, *shape), *shape)
    assert (read >= 0).all()
    assert np.abs(read * 2.55 - picture).max() <= off


def test_observations_become_pictures_or_do_not() -> None:
    stack = RANDOM.integers(0, 256, (4, 5, 6), dtype=np.uint8)
    shown = as_colours(stack, stacked=True)
    assert shown is not None
    assert (shown[..., 0] == stack[-1]).all(), "the newest of the stack, in grey"
    three = as_colours(stack[:3], stacked=True)
    assert three is not None
    assert (three[..., 0] == stack[2]).all(), "a stack of three is no colour"
    colours = RANDOM.integers(0, 256, (3, 5, 6), dtype=np.uint8)
    shown = as_colours(colours, stacked=False)
    assert shown is not None
    assert (shown == np.moveaxis(colours, 0, -1)).all()
    shown = as_colours(np.linspace(-1, 1, 30, dtype=np.float32).reshape(1, 5, 6), stacked=True)
    assert shown is not None
    assert (shown.min(), shown.max()) == (0, 255)
    assert as_colours(np.zeros(4), stacked=False) is None
