"""What there is to see at one moment, whoever shows it."""

from dataclasses import dataclass

import numpy as np

ATARI_STEPS = 15.0  # a second, at four frames each
SCREEN = 4 / 3  # a television


@dataclass(frozen=True)
class Scene:
    """One moment of a game."""

    title: str
    picture: np.ndarray | None  # [height, width, 3] uint8, if there is anything to see
    wide: float  # width of the picture on the screen, in heights
    numbers: np.ndarray | None  # the observation, where it is no picture
    seen: np.ndarray  # the observation, as the network receives it
    actions: tuple[str, ...]
    are_numbers: tuple[bool, ...]  # which actions are numbers, not choices
    probabilities: np.ndarray  # of choices; of numbers, their means
    taken: np.ndarray  # 1 for a choice that was taken, else 0; of numbers, what they were
    value: float
    score: float
    length: int
