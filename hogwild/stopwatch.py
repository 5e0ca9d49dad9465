"""Where the time of a worker goes."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Seconds by section.

    >>> clock = Stopwatch()
    >>> with clock.of("learning"):
    ...     pass
    >>> list(clock.metrics())
    ['time/learning']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def add(self, section: str, seconds: float) -> None:
        """Count time that was measured elsewhere."""
        self.seconds[section] = self.seconds.get(section, 0.0) + seconds

    @contextmanager
    def of(self, section: str) -> Iterator[None]:
        """Count the time spent inside."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.add(section, time.perf_counter() - began)

    def metrics(self) -> dict[str, float]:
        """Seconds since the last call, by the names of the metrics."""
        seconds, self.seconds = self.seconds, {}
        return {f"time/{section}": value for section, value in seconds.items()}
