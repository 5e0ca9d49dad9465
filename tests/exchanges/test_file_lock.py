"""The lock between processes: it excludes, and the kernel frees it when its holder is killed."""

import multiprocessing
import os
import signal
import time
from multiprocessing.connection import Connection

from hogwild.exchanges.file_lock import FileLock


def hold_for_ever(lock: FileLock, pipe: Connection) -> None:
    with lock:
        pipe.send("locked")
        time.sleep(1000)


def start_holder(lock: FileLock) -> multiprocessing.process.BaseProcess:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=hold_for_ever, args=(lock, theirs), daemon=True)
    process.start()
    assert ours.poll(30)
    return process


def test_a_lock_whose_holder_was_killed_is_free_again() -> None:
    lock = FileLock()
    holder = start_holder(lock)
    assert holder.pid is not None
    os.kill(holder.pid, signal.SIGKILL)
    started = time.monotonic()
    with lock:
        pass
    assert time.monotonic() - started < 5
    holder.join()
    lock.close()


def test_a_lock_that_is_held_elsewhere_makes_us_wait() -> None:
    lock = FileLock()
    holder = start_holder(lock)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    second = context.Process(target=hold_for_ever, args=(lock, theirs), daemon=True)
    second.start()
    assert not ours.poll(3)
    holder.kill()
    assert ours.poll(30)
    second.kill()
    for process in (holder, second):
        process.join()
    lock.close()
