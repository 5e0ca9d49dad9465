"""The lock that all changes of shared numbers go through, and the tape that can record in which order they did.

Whoever shares weights is deterministic between two changes, so the order of changes is all that asynchrony decides:
a tape of it is enough to repeat a run exactly.
"""

import json
import zlib
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from hogwild.exchanges.shared import EVENTS, VERSION, SharedWeights


class Lock:
    """Mutual exclusion; every time it is let go, an event has taken place, unless that is called back.

    >>> with Lock() as lock:
    ...     pass
    """

    def __init__(self, inner: AbstractContextManager[Any] | None = None, tape: "Tape | None" = None) -> None:
        self.inner: AbstractContextManager[Any] = inner or nullcontext()
        self.tape = tape
        self.in_vain = False

    def __enter__(self) -> "Lock":
        self.inner.__enter__()
        self.in_vain = False
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self.tape is not None and not self.in_vain:
                self.tape.write()
        finally:  # a full disk must not leave all others waiting
            self.inner.__exit__(kind, error, trace)

    def nothing_happened(self) -> None:
        """What was wanted could not be had: this is no event."""
        self.in_vain = True

    def applied(self, shared: SharedWeights) -> None:
        """The weights have changed."""
        if self.tape is not None:
            self.tape.digests = weight_digests(shared)


class Tape:
    """What one participant did, with its place in the order of all."""

    def __init__(self, path: Path, who: int, shared: SharedWeights) -> None:
        self.path = path
        self.who = who
        self.shared = shared
        self.digests: list[int] = []
        path.parent.mkdir(parents=True, exist_ok=True)

    def write(self) -> None:
        """Write down an event; the lock is held."""
        self.shared.counters[EVENTS] += 1
        event: list[Any] = [self.shared.counter(EVENTS), self.who]
        if self.digests:
            event += [self.shared.counter(VERSION), self.digests]
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")
        self.digests = []


def read_tape(folder: Path) -> list[list[Any]]:
    """All events in their order: [number, who], and after an update also [version, digests of all tensors].

    What a killed run did not get to write is missing at the end, never in the middle.
    """
    events: list[list[Any]] = []
    for path in folder.glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):  # cut off in the middle
                events.append(json.loads(line))
    events.sort(key=lambda event: int(event[0]))
    return [event for number, event in enumerate(events, start=1) if event[0] == number]


def weight_digests(shared: SharedWeights) -> list[int]:
    """One number for each tensor of the weights that changes when any bit of it does."""
    return [zlib.crc32(view.cpu().contiguous().numpy().data) for _, view in shared.layout.views(shared.weights)]
