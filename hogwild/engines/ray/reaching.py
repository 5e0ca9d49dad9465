"""Where Ray is, and how it is reached: by its address, the token of its cluster, and variables that it reads."""

import os
import secrets
import socket
import sys
from pathlib import Path
from typing import Any

from hogwild.errors import UsageError

ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # makes Ray listen on 127.0.0.1 only, on Linux, too
ADVICE = "Start one with `hogwild node --head`, or leave --address out."
RECORD = Path(os.environ.get("RAY_TMPDIR", "/tmp")) / "ray" / "ray_current_cluster"  # of the Ray on this machine
CONNECT_SECONDS = 5.0
TOKEN_FILE = Path.home() / ".ray" / "auth_token"


def import_ray(address: str) -> Any:
    """Ray, for a cluster with this address, or none, or a sentence that says how to get it. Its variables are set here,
    since it reads them when it is imported."""
    is_own = not address
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would tell its makers about us
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "error")  # what matters of the rest is said by us
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"  # whoever asks after the end must not start another Ray
    if is_own and "ray" not in sys.modules:  # a token of its own: nobody else on this machine or network can use it
        os.environ.update(ALONE, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    elif is_own and os.environ.get("RAY_AUTH_MODE") != "token":
        raise UsageError("Ray was imported before, without a token: set RAY_AUTH_MODE=token before, or give --address.")
    elif TOKEN_FILE.exists() or "RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ:
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    if (recorded() if address == "auto" else address).startswith(("127.", "localhost:")):
        os.environ.update(ALONE)
    try:
        import ray
    except ImportError:
        raise UsageError("Ray is not installed: pip install 'hogwild[ray]'") from None
    return ray


def require_cluster(address: str) -> None:
    """Refuse a cluster that cannot be there, before anything is made for a training on it."""
    address = address or os.environ.get("RAY_ADDRESS", "")
    import_ray(address)
    place = recorded() if address == "auto" else address
    if address == "auto" and not place:
        raise UsageError(f"--address auto: no Ray runs on this machine. {ADVICE}")
    if place and (error := why_unreached(place)) is not None:  # Ray would try for minutes, deaf to Ctrl-C
        raise UsageError(f"--address {address}: no Ray answers at {place}: {error.strerror or error}. {ADVICE}")


def recorded() -> str:
    """The address of the Ray that this machine belongs to; what is on record may have been killed."""
    return RECORD.read_text(encoding="utf-8").strip() if RECORD.exists() else ""


def why_unreached(address: str) -> OSError | None:
    """Why nobody can be reached at HOST:PORT, if so; what is no such address is refused."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdigit():
        raise UsageError(f"'{address}' is no address of a cluster: a host and a port, as in 10.0.0.5:6379.")
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        return error
    return None
