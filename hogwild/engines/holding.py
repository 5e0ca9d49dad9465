"""Who has a lock in hand, and whether it stands still with it."""

import fcntl
import os
import struct
import sys

import psutil

from hogwild.exchanges.file_lock import FileLock

IS_LINUX = sys.platform == "linux"
FLOCK = "hhqqi0q" if IS_LINUX else "qqihh"  # C's struct flock, whose members have another order on macOS


def holder_of(lock: FileLock) -> int:
    """The process that has a lock; 0 if it is nobody but this one.

    >>> holder_of(FileLock())
    0
    """
    what, where = (fcntl.F_WRLCK, os.SEEK_SET), (0, 0, 0)
    asked = struct.pack(FLOCK, *(what + where if IS_LINUX else where + what))
    found = struct.unpack(FLOCK, fcntl.fcntl(lock.file, fcntl.F_GETLK, asked))
    kind, process = (found[0], found[4]) if IS_LINUX else (found[3], found[2])
    return 0 if kind == fcntl.F_UNLCK else int(process)


def is_stopped(pid: int) -> bool:
    """Whether a process stands still until somebody lets it go on (SIGSTOP, Ctrl-Z).

    >>> is_stopped(os.getpid())
    False
    """
    try:
        return bool(psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP))
    except psutil.Error:
        return False
