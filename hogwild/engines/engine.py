"""The contract of an engine, as the coordinator sees it."""

from dataclasses import dataclass
from typing import Any, Protocol

from hogwild.report import Report


@dataclass
class WorkerStatus:
    """What one worker is doing."""

    rank: int
    state: str = "starting"  # starting, playing, serving, silent, dead, stopped
    pid: int = 0
    steps: int = 0
    role: str = "worker"  # or updater, or learner: one who serves all workers
    restarts: int = 0  # how often it died and was replaced
    machine: str = ""  # that it runs on, where there may be several


class Engine(Protocol):
    """Starts, watches and stops workers."""

    statuses: list[WorkerStatus]

    def start(self) -> None:
        """Start all workers; returns before they are ready."""
        ...

    def poll(self, seconds: float) -> list[Report]:
        """Wait at most so long for news from the workers; a failure that ends the run is raised as an error."""
        ...

    def stop(self) -> list[Report]:
        """Let the workers finish what they are doing and end; answers their last reports."""
        ...

    def kill(self) -> None:
        """End all workers at once."""
        ...

    def save(self) -> dict[str, Any] | None:
        """Everything needed to go on exactly, or None where that cannot be had."""
        ...

    def load(self, saved: dict[str, Any]) -> None:
        """Go on exactly from what was saved."""
        ...

    def carried(self) -> list[list[dict[str, float]]]:
        """For each worker what its preprocessing has learned."""
        ...
