"""What travels between machines: weights one way, and what was played or learned from it the other way."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch

from hogwild.engines.crew import Carried
from hogwild.engines.engine import WorkerStatus
from hogwild.exchanges.slots import Slots
from hogwild.exchanges.trajectories import read_slot
from hogwild.link import InputSums
from hogwild.report import Report
from hogwild.rollout import Played

HALF = np.dtype(np.uint16)  # how bfloat16 travels: NumPy has no such numbers


@dataclass(frozen=True)
class Offer:
    """What a machine is told when it is asked for a parcel."""

    version: int
    step: int  # of all machines together
    ready: bool  # whether means and deviations are known
    weights: np.ndarray | None = None  # unless the machine has them
    watched: tuple[int, ...] = ()  # workers at whose games somebody looks


@dataclass(frozen=True)
class Goods:
    """What one slot is to hold."""

    arrays: dict[str, np.ndarray]
    versions: tuple[int, ...]  # of the weights that played each rollout in it
    ages: tuple[float, ...]  # seconds since those were pulled: clocks of machines differ
    shape: tuple[int, int] = (0, 0)  # steps and environments of a rollout

    @property
    def bytes(self) -> int:
        """What it weighs."""
        return sum(array.nbytes for array in self.arrays.values())


class Counts(NamedTuple):
    """What a machine has counted since it began: all of it in every parcel, since one may be lost.

    >>> Counts(30, 1, 0) - Counts(10)
    Counts(steps=20, skipped=1, dropped=0)
    """

    steps: int = 0
    skipped: int = 0
    dropped: int = 0

    def __sub__(self, before: "Counts") -> "Counts":
        return Counts(*(now - then for now, then in zip(self, before, strict=True)))


@dataclass
class Parcel:
    """What a machine answers."""

    goods: list[Goods] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    inputs: InputSums | None = None
    reports: list[Report] = field(default_factory=list)
    statuses: list[WorkerStatus] = field(default_factory=list)
    carried: list[Carried] = field(default_factory=list)
    moments: dict[int, np.ndarray] = field(default_factory=dict)  # of the games that somebody looks at
    capsules: dict[str, bytes] = field(default_factory=dict)
    log: str = ""  # what workers have printed since the last parcel
    error: tuple[str, str] | None = None  # the machine gives up: words, traceback

    @property
    def bytes(self) -> int:
        """What it weighs, nearly."""
        return sum(goods.bytes for goods in self.goods)


def pack_gradients(slots: Slots, taken: Sequence[int], is_sum: bool, is_half: bool, now: float) -> Goods:
    """The gradients of several slots as one: machines send as much however many workers they have."""
    flat = slots.content("flat", taken[0]).clone()
    for slot in taken[1:]:
        flat += slots.content("flat", slot)
    if not is_sum:
        flat /= len(taken)
    array = flat.bfloat16().view(torch.uint16).numpy() if is_half else flat.numpy()
    return _goods(slots, taken, {"flat": array}, now)


def pack_rollout(slots: Slots, slot: int, now: float) -> Goods:
    """The rollout of a slot; nothing is copied, so the slot must not be released before the parcel has left."""
    rollout = read_slot(slots, slot)
    arrays = {name: tensor.numpy() for name, tensor in rollout.tensors().items()}
    steps, envs = rollout.rewards.shape
    return _goods(slots, [slot], arrays, now, (steps, envs))


def _goods(
    slots: Slots, taken: Sequence[int], arrays: dict[str, np.ndarray], now: float, shape: tuple[int, int] = (0, 0)
) -> Goods:
    played = [each for slot in taken for each in slots.played(slot)]
    versions, ages = tuple(p.version for p in played), tuple(now - p.born for p in played)
    return Goods(arrays, versions, ages, shape)


def unpack(goods: Goods, slots: Slots, slot: int) -> None:
    """Fill a free slot."""
    for name, array in goods.arrays.items():
        into = slots.content(name, slot).numpy()
        part = tuple(slice(size) for size in array.shape)
        np.copyto(into[part], widened(array) if name == "flat" and array.dtype == HALF else array)
    slots.seal(slot)


def played_by(goods: Goods, now: float) -> list[Played]:
    """Which weights played it, by the clock of this machine."""
    return [Played(version, now - age) for version, age in zip(goods.versions, goods.ages, strict=True)]


def widened(half: np.ndarray) -> np.ndarray:
    """Numbers in bfloat16, which are the upper halves of those in float32, as these.

    >>> widened(torch.tensor([1.5, -2.0]).bfloat16().view(torch.uint16).numpy()).tolist()
    [1.5, -2.0]
    """
    return (half.astype(np.uint32) << 16).view(np.float32)
