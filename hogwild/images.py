"""Observations as pictures that people can look at, and pictures as PNG files; without a library, and fast enough to
stream."""

import struct
import zlib
from typing import Any

import numpy as np

from hogwild.errors import EnvironmentFailed


def png(picture: np.ndarray, level: int = 6) -> bytes:
    """A grey or coloured picture [height, width(, 3)] of bytes as a PNG file; `level` is zlib's, 1 the fastest.

    >>> png(np.zeros((2, 2), dtype=np.uint8))[:4]
    b'\\x89PNG'
    """
    height, width = picture.shape[:2]
    rows = b"".join(b"\x00" + np.ascontiguousarray(row).tobytes() for row in picture)
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if picture.ndim == 3 else 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows, level)), (b"IEND", b"")]
    parts = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def as_screen(drawn: Any) -> np.ndarray:
    """What an environment's render() gave, as a picture [height, width, 3] of bytes.

    >>> as_screen(np.zeros((2, 2, 4))).shape
    (2, 2, 3)
    """
    picture = np.asarray(drawn)
    if drawn is None or picture.ndim not in (2, 3) or 0 in picture.shape:
        raise EnvironmentFailed("its render() shows nothing")
    shown = as_bytes(picture if picture.ndim == 3 else picture[..., None])
    return shown[..., :3] if shown.shape[-1] >= 3 else np.repeat(shown[..., :1], 3, axis=-1)


def as_colours(observation: np.ndarray, stacked: bool) -> np.ndarray | None:
    """The newest picture [height, width, 3] of an observation, or None if it is none.

    >>> as_colours(np.zeros((4, 84, 84), dtype=np.uint8), stacked=True).shape
    (84, 84, 3)
    """
    if observation.ndim != 3:
        return None
    channels = observation if len(observation) == 3 and not stacked else observation[-1:]
    shown = as_bytes(np.moveaxis(channels, 0, -1))
    return np.broadcast_to(shown, (*shown.shape[:2], 3))


def spread(observation: np.ndarray) -> np.ndarray | None:
    """The stacked pictures of an observation side by side [height, width × pictures], the oldest first.

    >>> spread(np.zeros((2, 70, 80), dtype=np.uint8)).shape
    (70, 160)
    """
    if observation.ndim != 3:
        return None
    return as_bytes(np.concatenate(list(observation), axis=1))


def as_bytes(picture: np.ndarray) -> np.ndarray:
    """Pixels from 0 to 255, whatever scale they are on.

    >>> as_bytes(np.array([[-1.0, 1.0]])).tolist()
    [[0, 255]]
    """
    if picture.dtype == np.uint8:
        return picture
    low, high = float(picture.min()), float(picture.max())
    scaled: np.ndarray = ((picture - low) / ((high - low) or 1.0) * 255).astype(np.uint8)
    return scaled
