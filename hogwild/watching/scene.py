"""What there is to see at one moment, whoever shows it."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Scene:
    """One moment of a game."""

    title: str
    picture: np.ndarray | None  # [height, width, 3] uint8, if there is anything to see
    wide: float  # width of the picture on the screen, in heights
    numbers: np.ndarray | None  # the observation, where it is no picture
    actions: tuple[str, ...]
    probabilities: np.ndarray
    action: int
    value: float
    score: float
    length: int


def as_colours(observation: np.ndarray, stacked: bool) -> np.ndarray | None:
    """The newest picture [height, width, 3] of an observation, or None if it is none.

    >>> as_colours(np.zeros((4, 84, 84), dtype=np.uint8), stacked=True).shape
    (84, 84, 3)
    """
    if observation.ndim != 3:
        return None
    channels = observation if len(observation) == 3 and not stacked else observation[-1:]
    shown = np.moveaxis(channels, 0, -1).astype(np.float32)
    if observation.dtype != np.uint8:  # decimals on any scale
        low, high = float(shown.min()), float(shown.max())
        shown = (shown - low) / ((high - low) or 1.0) * 255
    return np.broadcast_to(shown.astype(np.uint8), (*shown.shape[:2], 3))
