"""Steps per second of a training that is under way, after a warm-up. Needs nothing but Python: every peer's virtual
environment imports it."""

import json
import os
import time


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
            print(
                "\n" + json.dumps({"steps": done, "seconds": seconds, "steps_per_second": done / seconds}), flush=True
            )
            os._exit(0)  # threads and processes of the library are not asked: the driver ends the whole group
