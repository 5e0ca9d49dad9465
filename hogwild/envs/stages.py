"""Small steps that turn a game's picture into an observation, each a named function that can be looked at alone."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

PER_GAME_CROPS = {  # first row, and rows below 160 at which the cut ends: frame[first : second + 160, :160]
    "asteroids": (16, 34),
    "beam_rider": (20, 20),
    "centipede": (36, 56),
    "ms_pacman": (2, 10),
    "seaquest": (30, 30),
    "space_invaders": (8, 36),
    "video_pinball": (42, 60),
    "qbert": (12, 40),
    "boxing": (30, 30),
}
DEFAULT_CROP = (34, 34)


@dataclass
class Stage:
    """One step of preprocessing: a name and what it does to a picture."""

    name: str
    apply: Callable[[np.ndarray], np.ndarray]


def crop(first: int, last: int, width: int = 160) -> Stage:
    """Rows `first` to `last` and the left `width` columns."""
    return Stage("crop", lambda picture: picture[first:last, :width])


def crop_for_game(rom: str) -> Stage:
    """The playing field of a game, by the table of A3G."""
    first, second = PER_GAME_CROPS.get(rom, DEFAULT_CROP)
    return crop(first, second + 160)


def resize(size: tuple[int, int], method: str) -> Stage:
    """Picture of so many rows and columns: 'linear' between the nearest pixels, or 'area' averaging."""
    import cv2

    interpolation = {"linear": cv2.INTER_LINEAR, "area": cv2.INTER_AREA}[method]
    height, width = size
    name = f"resize {height}" if height == width else f"resize {height}×{width}"
    return Stage(name, lambda picture: cv2.resize(picture, (width, height), interpolation=interpolation))


def grey(red: float, green: float, blue: float) -> Stage:
    """Weighted sum of the colours, as decimals."""
    weights = np.array([red, green, blue], dtype=np.float32)
    return Stage("grey", lambda picture: picture.astype(np.float32) @ weights)


def mean_of_colours() -> Stage:
    """Mean of red, green and blue."""
    return Stage("mean of colours", lambda picture: picture.mean(axis=2, dtype=np.float32))


def luma_bytes() -> Stage:
    """Luminance of a colour picture in bytes (.299, .587, .114)."""
    import cv2

    return Stage("luma", lambda picture: cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY))


def scale_to_one() -> Stage:
    """Bytes to decimals in [0, 1]."""
    return Stage("scale", lambda picture: np.asarray(picture, dtype=np.float32) / np.float32(255.0))


def every_second_pixel() -> Stage:
    """Every second row and column."""
    return Stage("every second pixel", lambda picture: picture[::2, ::2])


def pad(width: int) -> Stage:
    """A black border."""
    return Stage("pad", lambda picture: np.pad(picture, width))


def binarise(threshold: float) -> Stage:
    """1 where the picture is brighter than the threshold, else 0."""
    return Stage("binarise", lambda picture: (picture > threshold).astype(np.float32))


@dataclass
class RunningNormaliser(Stage):
    """Picture minus the running mean of all its pixels, over their running deviation, both corrected for bias.

    It learns while it plays, so its state travels with checkpoints.
    """

    name: str = "running normaliser"
    apply: Callable[[np.ndarray], np.ndarray] = field(init=False)
    decay: float = 0.9999
    mean: float = 0.0
    deviation: float = 0.0
    count: int = 0

    def __post_init__(self) -> None:
        self.apply = self._normalise

    def _normalise(self, picture: np.ndarray) -> np.ndarray:
        self.count += 1
        self.mean = self.mean * self.decay + float(picture.mean(dtype=np.float64)) * (1 - self.decay)
        self.deviation = self.deviation * self.decay + float(picture.std(dtype=np.float64)) * (1 - self.decay)
        correction = 1 - self.decay**self.count
        shifted = picture - np.float32(self.mean / correction)
        return np.asarray(shifted / np.float32(self.deviation / correction + 1e-8), dtype=np.float32)
