"""Starting the server: a free port, an address to open, and a clean end."""

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import sys
import webbrowser

import uvicorn

from hogwild.dashboard.app import Site, make_app
from hogwild.dashboard.guard import Guard, is_loopback, own_names
from hogwild.dashboard.playing import Sitting
from hogwild.errors import UsageError

PORTS_TRIED = 20


def bind(host: str, port: int, exact: bool) -> socket.socket:
    """A socket on the port, or on one of the next; one that was asked for by number is not replaced."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in [port] if exact or not port else range(port, port + PORTS_TRIED):
        listening = socket.socket(family)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, candidate))
            listening.listen(128)  # from here on nobody who has the address is turned away
        except OSError as error:
            listening.close()
            reason = error.strerror
            continue
        return listening
    raise UsageError(f"Cannot listen on {host}:{port}: {reason}. Another one: --port 0 takes any that is free.")


def has_screen() -> bool:
    """Whether a browser would open a window: over SSH it might take over the terminal instead."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def is_worth_saying(record: logging.LogRecord) -> bool:
    """Streams have no end, so some are always open when the server ends: nothing to complain of."""
    was_cut_off = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not was_cut_off and "timeout graceful shutdown" not in record.getMessage()


def serve(
    runs: str, host: str, port: int, *, exact_port: bool, browser: bool, path: str = "/", sitting: Sitting | None = None
) -> None:
    """Serve the page until Ctrl-C."""
    token = "" if is_loopback(host) else secrets.token_urlsafe(24)
    listening = bind(host, port, exact_port)
    shown = f"[{host}]" if ":" in host else "localhost" if host == "127.0.0.1" else host
    if host in ("0.0.0.0", "::"):
        shown = socket.gethostname()
    query = ("&" if "?" in path else "?") + f"token={token}" if token else ""
    port = listening.getsockname()[1]
    address = f"http://{shown}:{port}{path}{query}"
    what, end = ("play", "Ctrl-C ends it") if sitting else ("dashboard", "Ctrl-C ends it; training goes on")
    print(f"{what:<13}{address}\n{'':13}{end}", flush=True)
    if token:
        print(f"{'':13}whoever has this address can see all runs, and start evaluations", flush=True)
    config = uvicorn.Config(
        Guard(make_app(Site(runs, sitting)), token, frozenset() if not token else own_names(host), port),
        # Whatever else is installed: only h11 keeps to the limit below.
        http="h11",
        loop="asyncio",
        log_config=None,  # errors go to the terminal, as they come
        log_level="error",
        ws="none",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=32_768,
    )
    logging.getLogger("uvicorn.error").addFilter(is_worth_saying)
    if browser and sys.stdout.isatty() and has_screen():
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(address)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run([listening])
