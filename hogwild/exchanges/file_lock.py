"""A lock between processes that the kernel releases when its holder dies.

`multiprocessing.Lock` stays locked for ever if its holder is killed; a lock on a file does not.
"""

import fcntl
import os
import tempfile
import threading
from types import TracebackType
from typing import Any


class FileLock:
    """Mutual exclusion between processes, and between threads of one; travels to a spawned process as an argument.

    >>> with FileLock() as lock:
    ...     pass
    """

    def __init__(self) -> None:
        self.file, path = tempfile.mkstemp(prefix="hogwild-")
        os.unlink(path)  # nothing is left behind, however we end
        self.threads = threading.Lock()  # the kernel's locks belong to processes, not to their threads

    def __enter__(self) -> "FileLock":
        self.threads.acquire()
        fcntl.lockf(self.file, fcntl.LOCK_EX)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        fcntl.lockf(self.file, fcntl.LOCK_UN)
        self.threads.release()

    def __getstate__(self) -> Any:
        from multiprocessing.reduction import DupFd

        return DupFd(self.file)

    def __setstate__(self, duplicate: Any) -> None:
        self.file = duplicate.detach()
        self.threads = threading.Lock()

    def close(self) -> None:
        """Let go of the file."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1
