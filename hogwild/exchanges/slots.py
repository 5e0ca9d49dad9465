"""Slots in shared memory through which rollouts or gradients travel, without being pickled.

Each worker has slots of its own, so that one that dies or dawdles holds nothing that another needs. A slot belongs to
exactly one side at a time, and its state says to which.
"""

import zlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hogwild.rollout import Played
from hogwild.shareable import Shareable

FREE, READY, TAKEN = range(3)
STATE, ORDER, LENGTH, WIDTH, ROLLOUTS, CHECKSUM = range(6)


class Slots(Shareable):
    """Named tensors, several times; ordinary memory until `share` moves it into shared memory.

    Who changes the state of a slot holds the lock, except that only its owner may fill a free one.
    """

    def __init__(self, workers: int, per_worker: int, shapes: dict[str, Tensor], max_rollouts: int = 1) -> None:
        """`shapes` are empty tensors in the form of one slot's content; one holds up to `max_rollouts` rollouts."""
        count = workers * per_worker
        self.per_worker = per_worker
        self.headers = torch.zeros(count, 6, dtype=torch.int64)
        self.versions = torch.zeros(count, max_rollouts, dtype=torch.int64)
        self.births = torch.zeros(count, max_rollouts, dtype=torch.float64)
        self.clock = torch.zeros(1, dtype=torch.int64)  # slots filled so far
        self.blocks = {name: torch.zeros(count, *like.shape, dtype=like.dtype) for name, like in shapes.items()}

    def tensors(self) -> dict[str, Tensor]:
        """Everything by name."""
        return super().tensors() | self.blocks

    def put(self, name: str, tensor: Tensor) -> None:
        """Take a tensor in the place of the one of the same name."""
        if name in self.blocks:
            self.blocks[name] = tensor
        else:
            super().put(name, tensor)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return state | {"blocks": dict.fromkeys(self.blocks)} if "_file" in state else state

    def content(self, name: str, slot: int) -> Tensor:
        """What a slot holds under a name."""
        # `data`, so that writing to one slot does not look to autograd like a change of another.
        return self.blocks[name].data[slot]

    def free_slot(self, rank: int) -> int | None:
        """A slot of this worker's that it may fill."""
        for slot in range(rank * self.per_worker, (rank + 1) * self.per_worker):
            if self.headers[slot, STATE] == FREE:
                return slot
        return None

    def oldest_unread(self, rank: int) -> int | None:
        """The slot of this worker's that has waited longest, if nobody is reading it."""
        mine = range(rank * self.per_worker, (rank + 1) * self.per_worker)
        return min(self._ready(mine), key=lambda slot: int(self.headers[slot, ORDER]), default=None)

    def seal(self, slot: int) -> None:
        """A slot has been filled: what is in it can be told from half of it."""
        self.headers[slot, CHECKSUM] = self._checksum(slot)

    def is_whole(self, slot: int) -> bool:
        """Whether a slot holds what it was sealed with: who filled it may have been killed while it did."""
        return int(self.headers[slot, CHECKSUM]) == self._checksum(slot)

    def _checksum(self, slot: int) -> int:
        found = 0
        for name in self.blocks:
            found = zlib.crc32(self.content(name, slot).view(-1).view(torch.uint8).numpy().data, found)
        return found

    def hand_over(self, slot: int, played: Sequence[Played], shape: tuple[int, int] = (0, 0)) -> None:
        """A sealed slot is ready to be taken."""
        self.clock += 1
        for index, each in enumerate(played):
            self.versions[slot, index] = each.version
            self.births[slot, index] = each.born
        self.headers[slot, ORDER:CHECKSUM] = torch.tensor([int(self.clock), *shape, len(played)])
        self.headers[slot, STATE] = READY  # last: until then it is nobody's but its owner's

    def take(self, count: int) -> list[int] | None:
        """The `count` slots that have waited longest, or None if there are not so many."""
        ready = sorted(self._ready(range(len(self.headers))), key=lambda slot: int(self.headers[slot, ORDER]))
        if len(ready) < count:
            return None
        self.headers[ready[:count], STATE] = TAKEN
        return ready[:count]

    def waiting(self) -> int:
        """Filled slots that nobody has taken."""
        return int((self.headers[:, STATE] == READY).sum())

    def played(self, slot: int) -> tuple[Played, ...]:
        """Which weights played what is in a slot."""
        count = int(self.headers[slot, ROLLOUTS])
        return tuple(Played(int(self.versions[slot, i]), float(self.births[slot, i])) for i in range(count))

    def release(self, slots: Sequence[int]) -> None:
        """What was taken has been read."""
        self.headers[list(slots), STATE] = FREE

    def forget_taken(self) -> int:
        """Whoever was reading has died: free what it had taken."""
        taken = self.headers[:, STATE] == TAKEN
        self.headers[taken, STATE] = FREE
        return int(taken.sum())

    def _ready(self, slots: range) -> list[int]:
        return [slot for slot in slots if self.headers[slot, STATE] == READY]
