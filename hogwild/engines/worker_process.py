"""What runs inside a worker's process."""

import contextlib
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait

from hogwild.config.settings import Settings
from hogwild.exchanges import make_link
from hogwild.exchanges.file_lock import FileLock
from hogwild.exchanges.weights import STEPS, STOP, SharedWeights
from hogwild.report import Report

REPORT_SECONDS = 0.2
CARRIED_SECONDS = 5.0


def worker_main(
    settings: Settings,
    rank: int,
    incarnation: int,
    carried: list[dict[str, float]],
    shared: SharedWeights,
    lock: FileLock,
    pipe: Connection,
) -> None:
    """Work until told to stop; whatever goes wrong is told to the coordinator before ending."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the coordinator decides when to stop
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        import torch

        from hogwild.worker import Worker, run_worker

        torch.set_num_threads(1)
        worker = Worker(settings, rank, incarnation, carried)
        link = make_link(settings, shared, rank, lock)
        mailer = Mailer(pipe, rank)
        pipe.send(("playing", None))
        limit = settings.run.steps

        def stopped() -> bool:
            return bool(shared.counter(STOP)) or bool(limit and shared.counter(STEPS) >= limit)

        for _ in run_worker(worker, link, mailer.add, stopped):
            mailer.send_if_due(worker.batch.carried)
        mailer.send(worker.batch.carried())
        pipe.send(("stopped", None))
    except (BrokenPipeError, ConnectionResetError):
        os._exit(1)  # nobody is listening any more
    except BaseException as error:
        with contextlib.suppress(OSError):
            pipe.send(("error", (type(error).__name__, str(error), traceback.format_exc())))
        os._exit(1)


class Mailer:
    """Gathers reports and sends them a few times a second, so that fast environments do not drown the pipe."""

    def __init__(self, pipe: Connection, rank: int) -> None:
        self.pipe = pipe
        self.rank = rank
        self.pending = Report(rank)
        self.sent = self.carried_sent = time.monotonic()

    def add(self, report: Report) -> None:
        """Take in a report."""
        self.pending.add(report)

    def send_if_due(self, carried: Callable[[], list[dict[str, float]]]) -> None:
        """Send what has gathered, if the last time was long enough ago."""
        now = time.monotonic()
        if now - self.sent < REPORT_SECONDS:
            return
        learned = carried() if now - self.carried_sent >= CARRIED_SECONDS else []
        self.send(learned)

    def send(self, carried: list[dict[str, float]]) -> None:
        """Send what has gathered."""
        self.sent = time.monotonic()
        if self.pending.steps:
            self.pipe.send(("report", self.pending))
            self.pending = Report(self.rank)
        if carried:
            self.carried_sent = self.sent
            self.pipe.send(("carried", carried))


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
