"""What led to a fault: the last seed of every environment and its actions since, in a file that outlives a crash."""

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hogwild.policies.spec import PolicySpec

LONGEST = 20_000  # actions since a seed that are kept
LONGEST_UNSEEDED = 1_000_000  # where no further seed is taken, all actions since the first count


@dataclass(frozen=True)
class Played:
    """What one environment was told since its last seed."""

    index: int  # in its batch
    seed: int
    actions: list[Any]
    is_whole: bool  # or longer than what is kept


class BlackBox:
    """A file that is written step by step: in front of it, for every environment, its seed and the step at which it was
    taken; then a ring of rows, each the actions of one step and its number.

    Written, and not mapped into memory: on a full disk a write fails and the tape has a gap, which its numbers show,
    while touching a mapped page that finds no room would kill the process.
    """

    def __init__(self, path: Path, about: dict[str, Any], mode: int = os.O_RDONLY) -> None:
        self.path = path
        self.about = about
        # The number comes last: a row that was written only in part does not have it.
        self.row = np.zeros(1, [("actions", about["dtype"], (about["envs"], *about["shape"])), ("number", np.int64)])
        self.heads = np.zeros((about["envs"], 2), np.int64)  # of every environment: its seed, and when it was taken
        self.number = 0  # of the last step
        self.file = os.open(path, mode | os.O_CLOEXEC, 0o644)

    def __del__(self) -> None:
        if hasattr(self, "file"):
            os.close(self.file)

    @classmethod
    def create(cls, path: Path, spec: PolicySpec, envs: int, has_seeds: bool) -> "BlackBox":
        """An empty one for a batch of environments; what is in it is described in a file beside it."""
        dtype = "uint8" if spec.is_choice and spec.num_actions < 256 else spec.action_dtype
        longest = LONGEST if has_seeds else LONGEST_UNSEEDED
        about = {"envs": envs, "longest": longest, "shape": list(spec.action_shape), "dtype": dtype}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".json").write_text(json.dumps(about), encoding="utf-8")
        return cls(path, about, os.O_RDWR | os.O_CREAT | os.O_TRUNC)

    @classmethod
    def open(cls, path: Path) -> "BlackBox":
        """One that somebody else has written."""
        box = cls(path, json.loads(path.with_suffix(".json").read_text(encoding="utf-8")))
        box.heads.reshape(-1)[:] = np.frombuffer(os.pread(box.file, box.heads.nbytes, 0), np.int64)
        box.number = int(box._rows()["number"].max(initial=0))
        return box

    def _write(self, content: np.ndarray, at: int) -> None:
        with contextlib.suppress(OSError):  # a full disk: the numbers show what is missing
            os.pwrite(self.file, content.data, at)

    def _place(self, number: int) -> int:
        return int(self.heads.nbytes + (number - 1) % self.about["longest"] * self.row.nbytes)

    def begin(self, which: Any, seeds: Any) -> None:
        """Seeds were taken."""
        self.heads[which, 0] = seeds
        self.heads[which, 1] = self.number
        self._write(self.heads, 0)

    def add(self, actions: np.ndarray) -> None:
        """Every environment is told to do something."""
        self.number += 1
        self.row["actions"] = actions
        self.row["number"] = self.number
        self._write(self.row, self._place(self.number))

    def add_tapes(self, seeds: np.ndarray, tapes: list[np.ndarray]) -> None:
        """Every environment took a seed and was told all of this; some were told more than others."""
        longest = max(map(len, tapes))
        told = np.zeros((longest, *self.row["actions"].shape[1:]), self.row["actions"].dtype)
        for index, tape in enumerate(tapes):
            told[longest - len(tape) :, index] = np.asarray(tape).reshape(told[longest - len(tape) :, index].shape)
        self.heads[:, 0] = seeds
        self.heads[:, 1] = [self.number + longest - len(tape) for tape in tapes]
        self._write(self.heads, 0)
        for actions in told:
            self.add(actions)

    def spoil(self) -> None:
        """Nobody knows what has happened since the last seeds."""
        self.heads[:, 1] = -self.about["longest"]
        self._write(self.heads, 0)

    def _rows(self) -> np.ndarray:
        room = os.fstat(self.file).st_size - self.heads.nbytes
        content = os.pread(self.file, max(room, 0), self.heads.nbytes)
        return np.frombuffer(content[: len(content) // self.row.nbytes * self.row.nbytes], self.row.dtype)

    def played(self) -> list[Played]:
        """What every environment was told."""
        rows = self._rows()
        return [self._tape(rows, index) for index in range(self.about["envs"])]

    def _tape(self, rows: np.ndarray, index: int) -> Played:
        seed, begun = (int(number) for number in self.heads[index])
        longest = self.about["longest"]
        numbers = np.arange(max(begun, self.number - longest, 0) + 1, self.number + 1)
        places = (numbers - 1) % longest
        numbers, places = numbers[places < len(rows)], places[places < len(rows)]
        is_written = rows["number"][places] == numbers
        actions = rows["actions"][places[is_written], index].tolist()
        return Played(index, seed, actions, len(actions) == self.number - begun)

    def remove(self) -> None:
        """Take the file away."""
        for file in (self.path, self.path.with_suffix(".json")):
            with contextlib.suppress(OSError):
                file.unlink()
