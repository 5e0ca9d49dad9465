"""The newest weights of a run that trains, for those who want to play with them; written only while somebody does."""

import contextlib
import os
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save

from hogwild.live.mailbox import is_fresh, touch

WANTED, WEIGHTS = "weights.wanted", "weights.safetensors"


class WeightsOutbox:
    """The coordinator's side."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def is_wanted(self) -> bool:
        """Whether somebody plays with them."""
        return is_fresh(self.folder / WANTED)

    def put(self, weights: dict[str, np.ndarray]) -> None:
        """Show the weights; where they cannot be written, nobody gets to see them, and training goes on."""
        new = self.folder / f".{WEIGHTS}.tmp"
        with contextlib.suppress(OSError):
            new.write_bytes(save(weights))
            os.replace(new, self.folder / WEIGHTS)


class WeightsInbox:
    """The side of who plays with them."""

    def __init__(self, folder: Path) -> None:
        self.path, self.wanted = folder / WEIGHTS, folder / WANTED
        self.modified = 0.0

    def newer(self) -> dict[str, np.ndarray] | None:
        """The weights, if there are newer ones than at the last call; keeps asking for them."""
        touch(self.wanted)
        try:
            modified = self.path.stat().st_mtime
            if modified == self.modified:
                return None
            weights: dict[str, np.ndarray] = load_file(self.path)
        except OSError:
            return None
        self.modified = modified
        return weights
