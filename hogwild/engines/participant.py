"""Running one participant's loop by itself, in a process or thread of its own."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from hogwild.engines.crew import Carried, Crew
from hogwild.report import Report
from hogwild.turns import Turn

Send = Callable[[str, Any], None]  # what kind of news, and the news
REPORT_SECONDS = 0.2
CARRIED_SECONDS = 5.0
WAIT_SECONDS = 0.0005  # between two looks at whether others have moved


def take_part(crew: Crew, place: int, lock: AbstractContextManager[Any], send: Send, restart: int = 0) -> None:
    """Work until told to stop; `place` says as what, `restart` how many died before in this place."""
    import torch

    torch.set_num_threads(1)
    if place < crew.workers:
        _work(crew, place, lock, send, restart)
    else:
        _serve(crew, place, lock, send)
    send("stopped", None)


def _work(crew: Crew, place: int, lock: AbstractContextManager[Any], send: Send, restart: int) -> None:
    from hogwild.worker import run_worker

    worker = crew.worker(place, restart)
    mailer = Mailer(send, worker.rank, worker.batch.carried)
    send("playing", None)
    try:
        loop = run_worker(worker, crew.link(place, lock), mailer.add, crew.played_enough, crew.told_to_stop)
        _drive(loop, mailer)
        mailer.send(worker.batch.carried())
    finally:
        worker.batch.close()


def _serve(crew: Crew, place: int, lock: AbstractContextManager[Any], send: Send) -> None:
    """Run the servers, all but the first in threads of their own."""
    import torch

    failures: list[BaseException] = []
    mailer = Mailer(send, place)

    def serve(loop: Iterator[Turn]) -> None:
        try:
            torch.set_num_threads(1)
            _drive(loop, mailer)
        except BaseException as error:
            failures.append(error)

    loops = [server.run(mailer.add, lambda: crew.told_to_stop() or bool(failures)) for server in crew.servers(lock)]
    send("serving", None)
    others = [threading.Thread(target=serve, args=(loop,), daemon=True) for loop in loops[1:]]
    for thread in others:
        thread.start()
    serve(loops[0])
    for thread in others:
        thread.join()
    if failures:
        raise failures[0]
    mailer.send([])


def _drive(loop: Iterator[Turn], mailer: "Mailer") -> None:
    for turn in loop:
        if turn is Turn.WAITING:
            time.sleep(WAIT_SECONDS)
        mailer.send_if_due()


class Mailer:
    """Gathers reports and sends them a few times a second, so that fast environments do not drown the coordinator."""

    def __init__(self, send: Send, rank: int, carried: Callable[[], Carried] = list) -> None:
        self.deliver = send
        self.rank = rank
        self.carried = carried
        self.pending = Report(rank)
        self.mutex = threading.Lock()
        self.sent = self.carried_sent = time.monotonic()

    def add(self, report: Report) -> None:
        """Take in a report."""
        with self.mutex:
            self.pending.add(report)

    def send_if_due(self) -> None:
        """Send what has gathered, if the last time was long enough ago."""
        now = time.monotonic()
        if now - self.sent < REPORT_SECONDS:
            return
        self.send(self.carried() if now - self.carried_sent >= CARRIED_SECONDS else [])

    def send(self, carried: Carried) -> None:
        """Send what has gathered."""
        with self.mutex:
            self.sent = time.monotonic()
            if self.pending.counts or self.pending.steps or self.pending.events:
                self.deliver("report", self.pending)
                self.pending = Report(self.rank)
            if carried:
                self.carried_sent = self.sent
                self.deliver("carried", carried)
