"""TensorBoard beside a training: started with it, ended with it."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PORT = 6006
END_SECONDS = 5.0


@contextmanager
def tensorboard(runs: str, wanted: bool) -> Iterator[None]:
    """Show the curves of a folder of runs as long as this lasts; says where, beside what is printed for programs.

    It belongs to the same terminal, so that it ends with it, however that happens.
    """
    if not wanted:
        yield
        return
    port = free_port(PORT)
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", runs, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(f"tensorboard  http://localhost:{port}", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
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
