"""Tensors in memory that several processes share.

All of one object lie in one block: an anonymous file, handed to spawned processes as a descriptor. It is not in
/dev/shm, of which containers have little, its pages are set aside when it is made, so that there is no bus error later,
and nothing is left behind however a process ends.
"""

import math
import mmap
import os
import tempfile
from typing import Any

import torch
from torch import Tensor

from hogwild.errors import HogwildError

ALIGNMENT = 64  # bytes


class Shareable:
    """Something whose tensors can move into shared memory, once; travels to a spawned process as an argument."""

    _file = -1
    _places: dict[str, tuple[int, torch.dtype, tuple[int, ...]]]  # of each tensor in the block

    def tensors(self) -> dict[str, Tensor]:
        """Everything by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}

    def put(self, name: str, tensor: Tensor) -> None:
        """Take a tensor in the place of the one of the same name."""
        setattr(self, name, tensor)

    def share(self) -> None:
        """Move everything into shared memory."""
        if self._file >= 0:
            return
        tensors, self._places, size = self.tensors(), {}, 0
        for name, tensor in tensors.items():
            self._places[name] = (size, tensor.dtype, tuple(tensor.shape))
            size += math.ceil(tensor.nbytes / ALIGNMENT) * ALIGNMENT
        self._file = anonymous_file(max(size, 1))
        for name, view in self._views().items():
            view.copy_(tensors[name])
            self.put(name, view)

    def _views(self) -> dict[str, Tensor]:
        block = torch.frombuffer(mmap.mmap(self._file, 0), dtype=torch.uint8)
        return {
            name: block[at : at + dtype.itemsize * math.prod(shape)].view(dtype).view(shape)
            for name, (at, dtype, shape) in self._places.items()
        }

    def __getstate__(self) -> dict[str, Any]:
        from multiprocessing.reduction import DupFd

        state = vars(self).copy()
        if self._file >= 0:
            mine = {id(tensor) for tensor in self.tensors().values()}
            state = {name: value for name, value in state.items() if id(value) not in mine}
            state["_file"] = DupFd(self._file)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "_file" in state:
            self._file = state["_file"].detach()
            for name, view in self._views().items():
                self.put(name, view)

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)


def anonymous_file(size: int) -> int:
    """A file of so many bytes without a name, as a descriptor; its room is set aside."""
    try:
        if hasattr(os, "memfd_create"):
            file = os.memfd_create("hogwild", os.MFD_CLOEXEC)
        else:
            file, path = tempfile.mkstemp(prefix="hogwild-")
            os.unlink(path)
        os.ftruncate(file, size)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file, 0, size)
    except OSError as error:
        raise HogwildError(f"There is no room for {size / 1e6:,.0f} MB of shared memory: {error.strerror}.") from error
    return file
