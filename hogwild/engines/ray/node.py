"""A machine of a cluster, kept there: Ray is started, and started again when it ends.

A machine that was cut off is given up by the others, and its Ray ends by itself when it hears of that. Somebody has to
start it anew, or it would be missing for good.
"""

import errno
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hogwild.engines.ray.cluster import HEALTH
from hogwild.engines.ray.reaching import ALONE, RECORD, TOKEN_FILE, why_unreached
from hogwild.errors import UsageError
from hogwild.signals import Signals

LOOK_SECONDS = 0.2  # between two looks at whether it still runs
AGAIN_SECONDS = 1.0  # before Ray is started again
ANSWER_SECONDS = 30.0  # that the first machine has to answer
END_SECONDS = 10.0  # that Ray has to end in order
STEADY_SECONDS = 20.0  # what ended sooner did not come up at all


def token_path() -> Path:
    """The file with the secret that all machines of a cluster share."""
    return Path(os.environ.get("RAY_AUTH_TOKEN_PATH", TOKEN_FILE))


def make_token() -> Path:
    """The secret of a cluster, made if there is none; only its owner can read it."""
    path = token_path()
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
        os.write(file, secrets.token_hex(32).encode())
        os.close(file)
    path.chmod(0o600)
    return path


def require_token() -> Path:
    """The secret of a cluster that is there already."""
    if not token_path().exists():
        raise UsageError(
            f"There is no token in {token_path()}. Copy that file from the machine that runs `hogwild node --head`, "
            "or point RAY_AUTH_TOKEN_PATH to it."
        )
    return token_path()


def head_command(host: str, port: int, cores: int | None) -> list[str]:
    """What starts the first machine of a cluster."""
    return [
        *_command(cores),
        "--head",
        *("--node-ip-address", host, "--port", str(port), "--include-dashboard", "false"),
        *("--system-config", json.dumps(HEALTH)),
    ]


def node_command(address: str, host: str, cores: int | None) -> list[str]:
    """What joins a machine to a cluster."""
    return [*_command(cores), "--address", address, *(("--node-ip-address", host) if host else ())]


def _command(cores: int | None) -> list[str]:
    words = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"]
    return words + (["--num-cpus", str(cores)] if cores is not None else [])


def require_free(host: str, port: int) -> None:
    """Refuse a port that somebody else listens on."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                words = f"--port {port}: it is taken, perhaps by a cluster that runs already. Choose another --port."
            else:
                words = f"--host {host}: {error.strerror}. It has to be an address of this machine."
            raise UsageError(words) from None


def require_answer(address: str) -> None:
    """Wait a while for the first machine, which may be starting, too."""
    end = time.monotonic() + ANSWER_SECONDS
    while (error := why_unreached(address)) is not None:
        if time.monotonic() > end or isinstance(error, socket.gaierror):
            raise UsageError(f"{address}: nobody answers there: {error.strerror or error}.")
        time.sleep(AGAIN_SECONDS)


def forget_killed(address: str) -> None:
    """A first machine that was killed stays on record as running, and Ray would refuse to take its place."""
    if RECORD.exists() and RECORD.read_text(encoding="utf-8").strip() == address:
        RECORD.unlink()


def keep(command: list[str], token: Path, say: Callable[[str], None], head: str = "") -> int:
    """Run a command until a signal ends it, and again whenever it ends by itself; answers the signal. `head` is the
    address of the cluster's first machine, if it is this one."""
    environment = os.environ | {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_worker_niceness": "0",  # workers are what the machine is there for
        **(ALONE if head.startswith("127.") else {}),
    }
    signals, has_worked, told = Signals(), False, ""
    with signals.watched():
        try:
            while not signals.first:
                began = time.monotonic()
                if head:
                    forget_killed(head)
                last = _run(command, environment, signals, say)
                has_worked |= time.monotonic() - began > STEADY_SECONDS
                if not has_worked and not signals.first:
                    raise UsageError(f"Ray did not come up: {last}")
                if last != told and not signals.first:
                    say(f"Ray has ended ({last}); it is started again.")
                told = last
                time.sleep(AGAIN_SECONDS if not signals.first else 0.0)
        finally:
            if head:
                forget_killed(head)  # whoever looks for a cluster would wait for it
    return signals.first


def _run(command: list[str], environment: dict[str, str], signals: Signals, say: Callable[[str], None]) -> str:
    """Run a command until it ends or is to be ended; answers what it said last."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            command, env=environment, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            while process.poll() is None and not signals.first:
                time.sleep(LOOK_SECONDS)
            if process.poll() is None:
                say("Ray ends, which takes some seconds.")
                os.killpg(process.pid, signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(END_SECONDS)
        finally:  # whoever has not ended in order; a second Ctrl-C waits for nothing, but leaves nothing behind either
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(0)
        return last_words([line.strip() for line in said if line.strip()]) or f"exit code {process.returncode}"


def last_words(lines: list[str]) -> str:
    """What a program said last: all of an error, which may have several lines, or else the last one.

    >>> last_words(["Traceback …", "RuntimeError: Version mismatch:", "Ray: 2.54.0", "Python: 3.11.7"])
    'RuntimeError: Version mismatch: Ray: 2.54.0 Python: 3.11.7'
    >>> last_words(["Ray runtime started.", "It was stopped."])
    'It was stopped.'
    """
    errors = [at for at, line in enumerate(lines) if re.match(r"[\w.]+Error: ", line)]
    return " ".join(lines[errors[-1] :] if errors else lines[-1:])
