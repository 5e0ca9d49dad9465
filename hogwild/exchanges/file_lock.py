"""A lock between processes that the kernel releases when its holder dies.

`multiprocessing.Lock` stays locked for ever if its holder is killed; a lock on a file does not.
"""

import fcntl
import os
import tempfile
from types import TracebackType
from typing import Any


class FileLock:
    """Mutual exclusion between processes; travels to a spawned process as an argument.

    >>> with FileLock() as lock:
    ...     pass
    """

    def __init__(self) -> None:
        self.file, path = tempfile.mkstemp(prefix="hogwild-")
        os.unlink(path)  # nothing is left behind, however we end

    def __enter__(self) -> "FileLock":
        fcntl.lockf(self.file, fcntl.LOCK_EX)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        fcntl.lockf(self.file, fcntl.LOCK_UN)

    def __getstate__(self) -> Any:
        from multiprocessing.reduction import DupFd

        return DupFd(self.file)

    def __setstate__(self, duplicate: Any) -> None:
        self.file = duplicate.detach()

    def close(self) -> None:
        """Let go of the file."""
        os.close(self.file)
