"""TensorBoard beside a training: started with it, ended with it."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PORT = 6006


@contextmanager
def tensorboard(runs: str, wanted: bool) -> Iterator[None]:
    """Show the curves of a folder of runs as long as this lasts; says where."""
    if not wanted:
        yield
        return
    port = free_port(PORT)
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", runs, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    print(f"tensorboard  http://localhost:{port}", flush=True)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def free_port(wanted: int) -> int:
    """This port, or any other if it is taken."""
    for port in (wanted, 0):
        with socket.socket() as place:
            place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                place.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(place.getsockname()[1])
    raise AssertionError("there is always a free port")
