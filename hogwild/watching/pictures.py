"""Pictures as text: half-blocks for every terminal, and the graphics of those that have some."""

import base64
import zlib

import numpy as np

CHUNK = 4096  # characters of one message to kitty
MOST_COLOURS = 256  # that a terminal with sixels can be trusted to know at once
LEVELS = 6  # of each colour, where there are more


def resize(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """A picture [height, width, 3] of another size: enlarged by repeating pixels, made smaller by averaging them.

    >>> resize(np.array([[[0] * 3, [2] * 3]], dtype=np.uint8), 1, 1).tolist()
    [[[1, 1, 1]]]
    """
    return _resize_axis(_resize_axis(picture, height, 0), width, 1)


def _resize_axis(picture: np.ndarray, size: int, axis: int) -> np.ndarray:
    old = picture.shape[axis]
    if size >= old:
        larger: np.ndarray = picture.take(np.arange(size) * old // size, axis)
        return larger
    starts = np.arange(size) * old // size
    counts = np.diff(np.append(starts, old)).reshape([-1 if a == axis else 1 for a in range(picture.ndim)])
    sums = np.add.reduceat(picture.astype(np.float32), starts, axis)
    smaller: np.ndarray = (sums / counts).astype(picture.dtype)
    return smaller


def half_blocks(picture: np.ndarray, rows: int, columns: int) -> list[str]:
    """Lines of text, two pixels in each character: the upper one in the colour of the letter, the lower one behind it.

    >>> half_blocks(np.zeros((2, 1, 3), dtype=np.uint8), 1, 1)
    ['\\x1b[38;2;0;0;0;48;2;0;0;0m▀\\x1b[0m']
    """
    small = resize(picture, 2 * rows, columns)
    lines = []
    for upper, lower in zip(small[::2].tolist(), small[1::2].tolist(), strict=True):
        parts, before = [], None
        for top, bottom in zip(upper, lower, strict=True):
            if (top, bottom) != before:  # most neighbours are alike
                parts.append(f"\x1b[38;2;{top[0]};{top[1]};{top[2]};48;2;{bottom[0]};{bottom[1]};{bottom[2]}m")
                before = (top, bottom)
            parts.append("▀")
        lines.append("".join(parts) + "\x1b[0m")
    return lines


def kitty(picture: np.ndarray, rows: int, columns: int, number: int) -> str:
    """Kitty's protocol: the picture as it is, scaled by the terminal to so many cells; `number` names it."""
    height, width = picture.shape[:2]
    data = base64.b64encode(zlib.compress(np.ascontiguousarray(picture).tobytes(), 1)).decode()
    control = f"a=T,f=24,s={width},v={height},c={columns},r={rows},o=z,i={number},p={number},C=1,q=2"
    pieces = [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]
    messages = []
    for index, piece in enumerate(pieces):
        more = f"m={int(index < len(pieces) - 1)}"
        messages.append(f"\x1b_G{f'{control},{more}' if index == 0 else more};{piece}\x1b\\")
    return "".join(messages)


def sixel(picture: np.ndarray, height: int, width: int) -> str:
    """Sixels: six rows of pixels in a band, one colour of the palette after the other; `height` and `width` in pixels.

    >>> sixel(np.zeros((6, 2, 3), dtype=np.uint8), 6, 2)
    '\\x1bPq"1;1;2;6#0;2;0;0;0#0!2~-\\x1b\\\\'
    """
    palette, colours = _palette(resize(picture, height, width))
    parts = [f'\x1bPq"1;1;{width};{height}']
    for number, colour in enumerate(palette.tolist()):
        red, green, blue = (round(value * 100 / 255) for value in (colour >> 16, colour >> 8 & 255, colour & 255))
        parts.append(f"#{number};2;{red};{green};{blue}")
    for top in range(0, height, 6):
        band = colours[top : top + 6]
        bits = (1 << np.arange(len(band)))[:, None]
        rows = [f"#{colour}" + _runs(((band == colour) * bits).sum(0) + 63) for colour in np.unique(band)]
        parts.append("$".join(rows) + "-")
    return "".join(parts) + "\x1b\\"


def _palette(picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Colours, and which of them each pixel has. Those of an Atari are few enough to be kept; others are rounded."""

    def colours_of(pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        red, green, blue = np.moveaxis(pixels.astype(np.int32), -1, 0)
        found, which = np.unique(red << 16 | green << 8 | blue, return_inverse=True)
        return found, which.reshape(red.shape)

    found, which = colours_of(picture)
    if len(found) <= MOST_COLOURS:
        return found, which
    step = 255 // (LEVELS - 1)
    return colours_of((picture.astype(np.int32) + step // 2) // step * step)


def _runs(codes: np.ndarray) -> str:
    """Characters with repetitions shortened."""
    ends = np.flatnonzero(np.append(codes[1:] != codes[:-1], True))
    lengths = np.diff(np.append(-1, ends))
    return "".join(
        f"!{length}{chr(code)}" if length > 3 or length == len(codes) > 1 else chr(code) * length
        for code, length in zip(codes[ends].tolist(), lengths.tolist(), strict=True)
    )
