"""Repeating a recorded run: the same participants, in the order in which they really came, in one process."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from hogwild.config.settings import Settings
from hogwild.engines.crew import Crew
from hogwild.engines.inline import InlineEngine
from hogwild.errors import RunFolderError
from hogwild.exchanges.shared import VERSION, SharedWeights
from hogwild.exchanges.tape import Lock, Tape, read_tape
from hogwild.resolve import read_file, resolve
from hogwild.runs.folder import RunFolder
from hogwild.session import Session
from hogwild.threads import one_torch_thread
from hogwild.turns import Turn

PATIENCE = 10_000  # pauses of a loop without an event, after which it is stuck


@dataclass(frozen=True)
class Replay:
    """How a replay went."""

    events: int
    updates: int
    differs_at: int | None = None  # the first update that gave other weights
    tensor: str = ""  # the first of them that differs


class Listener(Tape):
    """A tape that writes nothing, and remembers the last event."""

    def __init__(self, who: int, shared: SharedWeights) -> None:
        self.who = who
        self.shared = shared
        self.digests: list[int] = []
        self.events = 0
        self.heard: list[int] = []

    def write(self) -> None:
        """Remember an event."""
        self.events += 1
        self.heard, self.digests = self.digests, []


@dataclass
class ListeningCrew(Crew):
    """A crew in which every participant's events are listened to."""

    listeners: dict[int, Listener] = field(default_factory=dict)

    def lock(self, rank: int, inner: AbstractContextManager[Any] | None = None) -> Lock:
        """The handle of one participant."""
        self.listeners[rank] = Listener(rank, self.shared)
        return Lock(inner, self.listeners[rank])


def replay(folder: RunFolder, say: Callable[[int, int], None] | None = None) -> Replay:
    """Repeat a recorded run and compare the weights after every update; `say` hears how far it is."""
    events = read_tape(folder.tape)
    if not events:
        raise RunFolderError(f"Run '{folder.name}' has no tape: train it with --record-schedule --lock turns.")
    settings = Settings().update(**read_file(folder.config)).update(engine="inline", steps=0)
    session = Session(resolve(settings))
    crew = ListeningCrew(session.settings, session.shared)
    engine = InlineEngine(crew)
    engine.start()
    loops = dict(enumerate(engine.loops + engine.serving))
    names = list(session.layout.slices)
    updates = 0
    try:
        with one_torch_thread():
            for done, (number, who, *update) in enumerate(events):
                if say is not None:
                    say(done, len(events))
                _advance(loops[who], crew.listeners[who], number)
                if update and (wrong := _difference(crew, who, update, names)):
                    return Replay(number, updates, update[0], wrong)
                updates += bool(update)
    finally:
        engine.kill()
    return Replay(len(events), updates)


def _advance(loop: Iterator[Turn], listener: Listener, number: int) -> None:
    before = listener.events
    for _ in range(PATIENCE):
        next(loop)
        if listener.events > before:
            return
    raise RunFolderError(f"The tape does not fit this run: event {number} did not happen again.")


def _difference(crew: ListeningCrew, who: int, update: list[Any], names: list[str]) -> str:
    """Name of the first tensor that is not as it was recorded; empty if all are."""
    version, digests = update
    if crew.shared.counter(VERSION) != version:
        return "version"
    heard = crew.listeners[who].heard
    return next((name for name, ours, theirs in zip(names, heard, digests, strict=True) if ours != theirs), "")
