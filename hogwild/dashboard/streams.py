"""Server-sent events: what changes in the runs folder, and games as they are played."""

import asyncio
import itertools
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from hogwild.dashboard.catalogue import Catalogue, imports
from hogwild.dashboard.helper import Helper
from hogwild.dashboard.json_numbers import finite
from hogwild.dashboard.news import News
from hogwild.errors import HogwildError
from hogwild.runs.folder import RunFolder
from hogwild.watching.message import scene_message
from hogwild.watching.worker_view import make_worker_view

NEWS_SECONDS = 0.2  # until a viewer asks again what there is
WORKER_FRAMES = 20.0  # a second: more than that nobody sees
QUIET_SECONDS = 10.0  # then a comment says that the line is still open
MOST_VIEWERS, MOST_WORKERS, MOST_SPECTATORS = 256, 32, 4  # who follows a game costs more


def event(content: Any) -> bytes:
    """One event.

    >>> event({"a": 1})
    b'data: {"a": 1}\\n\\n'
    """
    return f"data: {json.dumps(finite(content), allow_nan=False)}\n\n".encode()


class Streams:
    """All streams that are open, and how many there may be. A refusal is an event, too: browsers show nothing else."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.news_of_folder = News(catalogue)
        self.numbers = itertools.count(1)
        self.open = {"viewers": 0, "viewers of workers": 0}
        self.spectators: dict[int, Helper] = {}
        self.allowed: set[str] = set()  # runs whose environment may be imported, though it is a module of their own

    def news(self) -> Response:
        """Rows of the table as they change; the first event has them all."""
        return self._respond(self._news(), "viewers", MOST_VIEWERS)

    def worker(self, folder: RunFolder, rank: int) -> Response:
        """What a worker plays."""
        return self._respond(self._worker(folder, rank), "viewers of workers", MOST_WORKERS)

    def spectator(self, folder: RunFolder) -> Response:
        """A game of its own, played by a process of its own."""
        return self._respond(self._spectator(folder), "viewers", MOST_VIEWERS)

    def tell(self, number: int, options: dict[str, Any]) -> bool:
        """Tell a spectator what to show, and how fast."""
        if number in self.spectators:
            self.spectators[number].tell(options)
        return number in self.spectators

    def _respond(self, source: AsyncGenerator[bytes, None], kind: str, most: int) -> Response:
        headers = {"cache-control": "no-store"}
        return StreamingResponse(self._counted(source, kind, most), media_type="text/event-stream", headers=headers)

    async def _counted(self, source: AsyncGenerator[bytes, None], kind: str, most: int) -> AsyncIterator[bytes]:
        if self.open[kind] >= most:
            yield event({"error": f"More than {most} {kind} are too many."})
            return
        self.open[kind] += 1
        try:
            async with aclosing(source):
                async for content in source:
                    yield content
        finally:
            self.open[kind] -= 1

    async def _news(self) -> AsyncGenerator[bytes, None]:
        known, heard = -1, time.monotonic()
        while True:
            await self.news_of_folder.look()
            if self.news_of_folder.number > known:
                known, content = self.news_of_folder.number, self.news_of_folder.since(known)
                yield event(content)
                heard = time.monotonic()
            elif time.monotonic() - heard >= QUIET_SECONDS:
                yield b": still here\n\n"
                heard = time.monotonic()
            await asyncio.sleep(NEWS_SECONDS)

    async def _worker(self, folder: RunFolder, rank: int) -> AsyncGenerator[bytes, None]:
        try:
            view = await run_in_threadpool(make_worker_view, folder, rank)
        except HogwildError as error:
            yield event({"error": str(error)})
            return
        while folder.is_live():
            scene = view.look(0)
            if scene is not None:
                yield event(scene_message(scene))
            await asyncio.sleep(1 / WORKER_FRAMES)
        yield event({"error": "The run is not training any more; the spectator can still play."})

    async def _spectator(self, folder: RunFolder) -> AsyncGenerator[bytes, None]:
        module = await run_in_threadpool(imports, folder)
        if module and folder.name not in self.allowed:
            yield event(
                {"error": f"Its environment is in the module '{module}', which looking at a run does not import."}
            )
            return
        if len(self.spectators) >= MOST_SPECTATORS:
            yield event({"error": f"More than {MOST_SPECTATORS} spectators are too many: close one."})
            return
        number, helper = next(self.numbers), Helper("hogwild.watching.eyes_process", str(folder.path.absolute()))
        self.spectators[number] = helper
        try:
            yield event({"spectator": number})
            async with aclosing(helper.messages()) as messages:
                async for message in messages:
                    yield event(message)
        finally:
            del self.spectators[number]
            helper.kill()
