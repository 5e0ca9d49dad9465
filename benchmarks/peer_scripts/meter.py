"""Steps per second of a training that is under way. Needs nothing but Python: every peer's environment imports it."""

import argparse
import json
import os
import time


def arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """What every peer's script is asked for."""
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--warm-up", type=float, default=10)
    return parser


class Meter:
    """Told of every step count; when the time is over, prints the result as JSON and ends the process."""

    def __init__(self, seconds: float, warm_up: float) -> None:
        self.seconds, self.warm_up = seconds, warm_up
        self.started: float | None = None
        self.began: tuple[float, int] | None = None

    def at(self, steps: int) -> None:
        """`steps` of all environments have been made and learned from."""
        now = time.perf_counter()
        if self.started is None:
            self.started = now
        elif self.began is None:
            if now - self.started >= self.warm_up:
                self.began = now, steps
        elif now - self.began[0] >= self.seconds:
            seconds, done = now - self.began[0], steps - self.began[1]
            print("\n" + json.dumps({"steps": done, "seconds": round(seconds, 2)}), flush=True)
            os._exit(0)  # the library's threads and processes are not asked: the driver ends the whole group
