"""What a process of ours is started with: its variables, its signals, room for its files, and where it prints."""

import faulthandler
import io
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection

import psutil

from hogwild.errors import UsageError
from hogwild.signals import WATCHED

WORKER_ENVIRONMENT = {
    # One core, one thread: more would fight for the cores.
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    # Every rollout needs the same large blocks of memory again; giving them back in between costs a page fault for
    # each 4 kB (a tenth of the time of learning). Only the GNU library reads these.
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "MALLOC_ARENA_MAX": "1",
}
FAMILY = "HOGWILD_FAMILY"  # a variable that whoever is started by a process of ours inherits
READ_AGAIN = 97  # exit code of a process that found its script about to train once more
FILES, FILES_EACH = 24, 7  # open at once, by the coordinator alone and for each process


def require_files(processes: int) -> None:
    """Refuse to start where too few files may be open at once."""
    need, most = FILES + FILES_EACH * processes, resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most < need:
        raise UsageError(
            f"{processes} processes need about {need} files open at once, and {most} are allowed: ulimit -n {2 * need}"
        )


def leave_if_read_again() -> None:
    """A process of ours reads the script that started it, for what is registered there. Where nothing keeps it from
    training once more, it ends."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        os._exit(READ_AGAIN)


@contextmanager
def only_a_script_that_is_there() -> Iterator[None]:
    """Children started inside do not look for a script that has no file, as of `python - <<EOF`."""
    main = vars(sys.modules["__main__"])
    path = main.get("__file__")
    is_there = path is None or main.get("__spec__") is not None or os.path.exists(path)
    if not is_there:
        main.pop("__file__")
    try:
        yield
    finally:
        if not is_there:
            main["__file__"] = path


def worker_environment() -> AbstractContextManager[None]:
    """Children started inside have the variables that workers want in their environment."""
    return variables(WORKER_ENVIRONMENT)


@contextmanager
def variables(wanted: Mapping[str, str]) -> Iterator[None]:
    """Children started inside have these variables in their environment."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def family(name: str) -> Iterator[None]:
    """Children started inside, and whatever they start, can be found by this name."""
    with variables({FAMILY: name}):
        yield


def end_families(names: Collection[str]) -> None:
    """End all of some families, such as what environments had started in processes that have ended."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # some are somebody else's, some end meanwhile
            if process.environ().get(FAMILY) in names:
                process.kill()


def let_children_be_started() -> None:
    """Let environments start processes of their own, which Python forbids to those that end with their parent."""
    vars(multiprocessing.current_process())["_config"]["daemon"] = False


def end_children() -> None:
    """End those that environments have started: Python would wait for them."""
    for child in multiprocessing.active_children():
        child.kill()


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Children started inside are deaf to Ctrl-C, SIGTERM and SIGHUP until they have said what to do about them."""
    resource_tracker.ensure_running()  # which would let the signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def print_into(pipe: Connection) -> None:
    """Whatever this process prints from now on, also from C, goes into a pipe."""
    for number in (1, 2):
        os.dup2(pipe.fileno(), number)
    pipe.close()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)  # what is in a buffer when a process is killed, nobody reads
    faulthandler.enable(2, all_threads=False)  # where it was, if it is killed by what it did
