"""How a worker shows its game to whoever looks on, through two small files in the run's folder.

A viewer touches `worker-0.wanted` every second. Before each rollout the worker looks at that file's age, which costs it
a few microseconds; while it is fresh, every step of the worker's first environment goes into `worker-0.frames`, a ring
of moments in memory that both have mapped. Viewers only read: none can hold up the worker, and one that dies is
forgotten after a few seconds.
"""

import contextlib
import dataclasses
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hogwild.policies.spec import ActionPart, PolicySpec

FRESH_SECONDS = 4.0
LOOK_SECONDS = 1.0  # from one touch of a viewer to the next
RING = 128  # moments
HEADER = 65536  # bytes in front of them: what the observations and actions are


def moment_dtype(spec: PolicySpec) -> np.dtype[Any]:
    """One step of one environment: what the policy saw, what it thought of it, and what came of it."""
    return np.dtype(
        [
            ("number", np.int64),  # counts from 1; 0 while it is being written
            ("observation", np.dtype(spec.observation_dtype), spec.observation_shape),
            ("probabilities", np.float32, (spec.num_actions,)),  # of actions that are numbers, their means
            ("value", np.float32),
            ("action", np.dtype(spec.action_dtype), spec.action_shape),
            ("taken", np.float32, (spec.num_actions,)),  # the same beside the probabilities: see `PolicySpec.taken`
            ("log_prob", np.float32),  # of the action
            ("reward", np.float32),  # raw
            ("score", np.float64),  # raw return of the game so far, this reward included
            ("length", np.int64),  # steps of the game so far, this one included
            ("over", np.bool_),  # the game ended with this step
        ]
    )


def read_spec(written: dict[str, Any]) -> PolicySpec:
    """What is needed of a spec to read moments, from JSON."""
    return PolicySpec(
        tuple(written["observation_shape"]),
        written["observation_dtype"],
        tuple(ActionPart(**part) for part in written["actions"]),
    )


def touch(path: Path) -> None:
    """Say that somebody looks on. The folder is the training's: where it is not, nobody is there to be looked at."""
    with contextlib.suppress(OSError):
        path.touch()


def is_fresh(path: Path) -> bool:
    """Whether somebody looked on a moment ago."""
    try:
        return time.time() - os.stat(path).st_mtime < FRESH_SECONDS
    except OSError:
        return False


def wanted_file(folder: Path, rank: int) -> Path:
    """What viewers of a worker touch."""
    return folder / f"worker-{rank}.wanted"


def frames_file(folder: Path, rank: int) -> Path:
    """Where a worker shows its game."""
    return folder / f"worker-{rank}.frames"


class Outbox:
    """The worker's side."""

    def __init__(self, folder: Path, rank: int, spec: PolicySpec) -> None:
        self.folder, self.rank = folder, rank
        self.wanted = wanted_file(folder, rank)
        self.spec, self.kind = spec, moment_dtype(spec)
        self.ring: np.ndarray | None = None
        self.number = 0

    def is_there(self) -> bool:
        """Whether somebody looks on; asked before every rollout, so nearly free while nobody does."""
        there = is_fresh(self.wanted)
        if there and self.ring is None:
            self._open()
        elif not there and self.ring is not None:
            self.close()
        return self.ring is not None

    def _open(self) -> None:
        """A new file each time: one that viewers of an earlier process still have open stays as it was.

        It is written in full, so that a full disk is noticed here and not in the middle of a game; where it cannot be
        written, nobody gets to see anything, and training goes on.
        """
        path = frames_file(self.folder, self.rank)
        new = path.with_suffix(f".{os.getpid()}")
        try:
            new.write_bytes(
                json.dumps(dataclasses.asdict(self.spec)).encode().ljust(HEADER) + bytes(RING * self.kind.itemsize)
            )
            os.replace(new, path)
            self.ring = np.memmap(path, self.kind, "r+", HEADER, (RING,))
        except OSError:
            self.ring = None
        self.number = 0

    def see(self, **fields: Any) -> None:
        """Show one step; the fields are those of a moment."""
        if self.ring is None:
            return
        self.number += 1
        moment = self.ring[self.number % RING]
        moment["number"] = 0
        for name, value in fields.items():
            moment[name] = value
        moment["number"] = self.number

    def close(self) -> None:
        """Nobody looks any more."""
        self.ring = None
        with contextlib.suppress(OSError):
            frames_file(self.folder, self.rank).unlink()


class Inbox:
    """A viewer's side: the moments of one worker, in their order, as far as the ring still has them."""

    def __init__(self, folder: Path, rank: int) -> None:
        self.folder, self.rank = folder, rank
        self.path = frames_file(folder, rank)
        self.ring: np.ndarray | None = None
        self.spec: PolicySpec | None = None  # known with the first moment
        self.file = 0  # its inode: a worker that was started anew has another
        self.seen = 0
        self.touched = -FRESH_SECONDS

    def look(self) -> None:
        """Go on looking: to be called at least every second."""
        now = time.monotonic()
        if now - self.touched < LOOK_SECONDS:
            return
        self.touched = now
        touch(wanted_file(self.folder, self.rank))
        self._open()

    def _open(self) -> None:
        try:
            status = os.stat(self.path)
        except OSError:
            self.ring = None
            return
        if self.ring is not None and status.st_ino == self.file:
            return
        try:
            with open(self.path, "rb") as file:
                self.spec = read_spec(json.loads(file.read(HEADER)))
            self.ring = np.memmap(self.path, moment_dtype(self.spec), "r", HEADER, (RING,))
        except OSError:  # it went away in between
            self.ring = None
            return
        self.file, self.seen = status.st_ino, 0

    def moments(self, most: int = RING) -> Iterator[np.ndarray]:
        """The moments since the last call, the newest `most` of them; each is a copy."""
        if self.ring is None:
            return
        newest = int(self.ring["number"].max())
        # The oldest few are about to be overwritten.
        for number in range(max(self.seen, newest - min(most, RING - 8)) + 1, newest + 1):
            moment = self.ring[number % RING].copy()
            if moment["number"] == number == self.ring[number % RING]["number"]:
                self.seen = number
                yield moment
