"""Slots in shared memory through which rollouts or gradients travel, without being pickled.

Each worker has slots of its own, so that one that dies or dawdles holds nothing that another needs. A slot belongs to
exactly one side at a time, and its state says to which.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from hogwild.rollout import Played

FREE, READY, TAKEN = range(3)
STATE, ORDER, LENGTH, WIDTH, ROLLOUTS = range(5)


class Slots:
    """Named tensors, several times; ordinary memory until `share` moves it into shared memory.

    Who changes the state of a slot holds the lock, except that only its owner may fill a free one.
    """

    def __init__(self, workers: int, per_worker: int, shapes: dict[str, Tensor], max_rollouts: int = 1) -> None:
        """`shapes` are empty tensors in the form of one slot's content; one holds up to `max_rollouts` rollouts."""
        count = workers * per_worker
        self.per_worker = per_worker
        self.headers = torch.zeros(count, 5, dtype=torch.int64)
        self.versions = torch.zeros(count, max_rollouts, dtype=torch.int64)
        self.births = torch.zeros(count, max_rollouts, dtype=torch.float64)
        self.clock = torch.zeros(1, dtype=torch.int64)  # slots filled so far
        # One block for all slots: each tensor in shared memory takes a file descriptor, of which there may be few.
        self.blocks = {name: torch.zeros(count, *like.shape, dtype=like.dtype) for name, like in shapes.items()}

    def tensors(self) -> dict[str, Tensor]:
        """Everything by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)} | self.blocks

    def content(self, name: str, slot: int) -> Tensor:
        """What a slot holds under a name."""
        # `data`, so that writing to one slot does not look to autograd like a change of another.
        return self.blocks[name].data[slot]

    def share(self) -> None:
        """Move everything into shared memory."""
        for tensor in self.tensors().values():
            tensor.share_memory_()

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

    def hand_over(self, slot: int, played: Sequence[Played], shape: tuple[int, int] = (0, 0)) -> None:
        """A filled slot is ready to be taken."""
        self.clock += 1
        for index, each in enumerate(played):
            self.versions[slot, index] = each.version
            self.births[slot, index] = each.born
        self.headers[slot] = torch.tensor([READY, int(self.clock), *shape, len(played)])

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

    def _ready(self, slots: range) -> list[int]:
        return [slot for slot in slots if self.headers[slot, STATE] == READY]
