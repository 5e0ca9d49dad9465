"""A process that works for the page, and what it says."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

LONGEST_LINE = 8 * 2**20
LAST_WORDS = 4096  # bytes of its errors that are kept


class Helper:
    """Started when somebody first listens to it, and ended at the latest when they stop."""

    def __init__(self, module: str, *words: str) -> None:
        self.command = [sys.executable, "-m", module, *words]
        self.process: asyncio.subprocess.Process | None = None
        self.killed = False
        self.unsent: list[dict[str, Any]] = []  # told before it was there

    async def messages(self) -> AsyncGenerator[dict[str, Any], None]:
        """What it says until it ends; if it fails without a word, the last line of its errors."""
        pipe, complained = asyncio.subprocess.PIPE, False
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=pipe, stdout=pipe, stderr=pipe, limit=LONGEST_LINE
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        errors = asyncio.create_task(_end_of(self.process.stderr))
        try:
            if self.killed:  # before it was there
                self.process.kill()
            while self.unsent:
                self.tell(self.unsent.pop(0))
            async for line in self.process.stdout:
                message = _message(line)
                complained = complained or "error" in message
                yield message
            code = await self.process.wait()
            if code and not complained and not self.killed:
                yield {"error": await errors or f"It ended with code {code}."}
        finally:
            self.kill()
            errors.cancel()
            await self.process.wait()

    def tell(self, content: dict[str, Any]) -> None:
        """Send it a message."""
        if self.process is None:
            self.unsent.append(content)
        elif self.process.stdin is not None:
            self.process.stdin.write(json.dumps(content).encode() + b"\n")

    def kill(self) -> None:
        """End it."""
        self.killed = True
        if self.process is not None:
            with suppress(ProcessLookupError):  # it has just ended
                self.process.kill()


def _message(line: bytes) -> dict[str, Any]:
    content = json.loads(line)
    assert isinstance(content, dict)
    return content


async def _end_of(stream: asyncio.StreamReader) -> str:
    """The last line of a stream, of which no more than that is kept."""
    end = b""
    while content := await stream.read(LAST_WORDS):
        end = (end + content)[-LAST_WORDS:]
    return next((line.strip() for line in reversed(end.decode(errors="replace").splitlines()) if line.strip()), "")
