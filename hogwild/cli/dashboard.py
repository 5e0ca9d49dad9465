"""`hogwild dashboard`"""

from dataclasses import dataclass
from pathlib import Path

from hogwild.cli.arguments import parse
from hogwild.errors import UsageError


@dataclass(frozen=True)
class Dashboard:
    """Show all runs in the browser, live while they train: curves, speed, the game, the agent's eyes, checkpoints.

    The page is served to this machine only; on another --host it asks for a token, which is part of the address that is
    printed.
    """

    runs: str = "runs"
    """Folder that holds all runs."""
    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 is all of them."""
    port: int | None = None
    """Port to listen on (None: 8300, or the next one that is free; 0: any)."""
    browser: bool = True
    """Open the page in a browser."""


PORT = 8300


def main(arguments: list[str]) -> int:
    """Serve the page until Ctrl-C."""
    given = parse(Dashboard, "dashboard", arguments)
    check_port(given.port)
    if not Path(given.runs).is_dir():
        raise UsageError(f"There is no folder '{given.runs}' yet. It comes with the first run: hogwild train pong")
    from hogwild.dashboard.serve import serve

    port = PORT if given.port is None else given.port
    serve(given.runs, given.host, port, exact_port=given.port is not None, browser=given.browser)
    return 0


def check_port(port: int | None) -> None:
    """Refuse a port that there cannot be."""
    if port is not None and not 0 <= port <= 65535:
        raise UsageError(f"--port {port}: from 0 to 65535.")
