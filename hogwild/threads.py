"""How many threads torch may use."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """One thread for mathematics inside.

    Sums come out the same only if they are added up in the same order, and small batches are faster without threads
    that wait for each other.

    >>> with one_torch_thread():
    ...     torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
