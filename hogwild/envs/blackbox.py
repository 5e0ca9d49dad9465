"""What led to a fault: the seed of every episode under way and its actions since, in a file that outlives a crash."""

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hogwild.policies.spec import PolicySpec

LONGEST = 20_000  # actions of an episode that are kept
LONGEST_UNSEEDED = 1_000_000  # where episodes have no seed of their own, all actions since the first count
SEED, COUNT = range(2)


@dataclass(frozen=True)
class Played:
    """What one environment was told since its episode began."""

    index: int  # in its batch
    seed: int
    actions: list[Any]
    is_whole: bool  # or longer than what is kept


class BlackBox:
    """A file of fixed size, mapped into memory; only what is written takes room on the disk."""

    def __init__(self, path: Path, about: dict[str, Any], mode: Any = "w+") -> None:
        self.path = path
        self.about = about
        envs, longest, shape = about["envs"], about["longest"], about["shape"]
        # As plain arrays: each look at a part of a memory map makes another of them, which takes microseconds.
        self.heads = np.asarray(np.memmap(path, np.int64, mode, shape=(envs, 2)))
        follows: Any = "r+" if mode == "w+" else mode
        at = self.heads.nbytes
        self.actions = np.asarray(np.memmap(path, about["dtype"], follows, at, (envs, longest, *shape)))
        self.counts = self.heads[:, COUNT]
        self.rows = np.arange(envs)

    @classmethod
    def create(cls, path: Path, spec: PolicySpec, envs: int, has_seeds: bool) -> "BlackBox":
        """An empty one for a batch of environments; what is in it is described in a file beside it."""
        dtype = "uint8" if spec.is_choice and spec.num_actions < 256 else spec.action_dtype
        longest = LONGEST if has_seeds else LONGEST_UNSEEDED
        about = {"envs": envs, "longest": longest, "shape": list(spec.action_shape), "dtype": dtype}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".json").write_text(json.dumps(about), encoding="utf-8")
        return cls(path, about)

    @classmethod
    def open(cls, path: Path) -> "BlackBox":
        """One that somebody else has written."""
        return cls(path, json.loads(path.with_suffix(".json").read_text(encoding="utf-8")), "r")

    def begin(self, which: Any, seeds: np.ndarray) -> None:
        """New episodes have begun."""
        self.heads[which, COUNT] = 0
        self.heads[which, SEED] = seeds

    def add(self, actions: np.ndarray) -> None:
        """Every environment is told to do something."""
        try:
            self.actions[self.rows, self.counts] = actions
        except IndexError:  # an episode is longer than what is kept
            fitting = self.counts < self.about["longest"]
            self.actions[self.rows[fitting], self.counts[fitting]] = actions[fitting]
        self.counts += 1

    def add_all(self, index: int, actions: np.ndarray) -> None:
        """One environment was told all of this."""
        self.actions[index, : len(actions)] = actions
        self.heads[index, COUNT] = len(actions)

    def spoil(self) -> None:
        """Nobody knows how the episodes under way began."""
        self.heads[:, COUNT] = self.about["longest"] + 1

    def played(self, index: int) -> Played:
        """What one environment was told."""
        seed, count = (int(number) for number in self.heads[index])
        longest = self.about["longest"]
        return Played(index, seed, self.actions[index, : min(count, longest)].tolist(), count <= longest)

    def remove(self) -> None:
        """Take the file away."""
        for file in (self.path, self.path.with_suffix(".json")):
            with contextlib.suppress(OSError):
                file.unlink()
