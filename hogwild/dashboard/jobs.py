"""Work that the page asks for: evaluating and filming checkpoints, one after the other, in processes of their own."""

import asyncio
import itertools
import time
from collections import deque
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from typing import Any

from hogwild.dashboard.helper import Helper
from hogwild.runs.folder import RunFolder

MOST_WAITING = 8  # jobs that may wait for their turn
REMEMBERED = 50


@dataclass
class Job:
    """One evaluation or film."""

    number: int
    run: str
    kind: str  # evaluate or film
    checkpoint: str
    episodes: int
    greedy: bool
    state: str = "waiting"  # waiting, working, done, failed, cancelled
    done: int = 0  # games
    began: float = 0.0
    seconds: float = 0.0
    result: dict[str, Any] = field(default_factory=dict)
    error: str = ""

    def as_json(self) -> dict[str, Any]:
        """For the page, with the seconds that are left if it goes on like this."""
        passed = self.seconds or (time.monotonic() - self.began if self.state == "working" else 0.0)
        left = passed / self.done * (self.episodes - self.done) if self.done and self.state == "working" else None
        return {k: v for k, v in asdict(self).items() if k != "began"} | {"seconds": round(passed, 1), "left": left}


class Jobs:
    """Jobs in their order; one works at a time, and politely, since a training may want the cores."""

    def __init__(self) -> None:
        self.numbers = itertools.count(1)
        self.jobs: deque[Job] = deque(maxlen=REMEMBERED)
        self.waiting: deque[tuple[Job, RunFolder]] = deque()
        self.helper: Helper | None = None
        self.task: asyncio.Task[None] | None = None

    def add(self, folder: RunFolder, kind: str, checkpoint: str, episodes: int, greedy: bool) -> Job | None:
        """Put a job at the end of the queue; None if it is full."""
        if len(self.waiting) >= MOST_WAITING:
            return None
        job = Job(next(self.numbers), folder.name, kind, checkpoint, episodes if kind == "evaluate" else 1, greedy)
        self.waiting.append((job, folder))
        self.jobs.append(job)
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._work())
        return job

    def cancel(self, number: int) -> bool:
        """End a job that works, or take it out of the queue."""
        for job in self.jobs:
            if job.number == number and job.state in ("waiting", "working"):
                if job.state == "working" and self.helper is not None:
                    self.helper.kill()
                job.state = "cancelled"
                self.waiting = deque(each for each in self.waiting if each[0] is not job)
                return True
        return False

    async def _work(self) -> None:
        while self.waiting:
            job, folder = self.waiting.popleft()
            job.state, job.began = "working", time.monotonic()
            try:
                await self._run(job, folder)
            except Exception as error:  # whatever happens to one job, the next has its turn
                job.error = f"{type(error).__name__}: {error}"
            job.seconds = time.monotonic() - job.began
            if job.state == "working":
                job.state = "done" if job.result else "failed"

    async def _run(self, job: Job, folder: RunFolder) -> None:
        words = [str(folder.path.absolute()), job.kind, job.checkpoint, str(job.episodes), str(int(job.greedy))]
        self.helper = Helper("hogwild.dashboard.job_process", *words)
        async with aclosing(self.helper.messages()) as messages:
            async for said in messages:
                job.done = said.get("done", job.done)
                job.result = said.get("result", job.result)
                job.error = said.get("error", job.error)

    async def close(self) -> None:
        """End what works; nothing else begins."""
        self.waiting.clear()
        if self.helper is not None:
            self.helper.kill()
        if self.task is not None:
            await self.task
