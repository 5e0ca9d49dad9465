"""What travels between workers. Each exchange is one `Link`: all that a worker knows of the world."""

from contextlib import AbstractContextManager
from typing import Any

from hogwild.config.settings import Settings
from hogwild.exchanges.link import Link
from hogwild.exchanges.weights import SharedWeights, WeightsLink

__all__ = ["Link", "SharedWeights", "make_link"]


def make_link(
    settings: Settings, shared: SharedWeights, rank: int, lock: AbstractContextManager[Any] | None = None
) -> Link:
    """The link of one worker, for the exchange that the settings name."""
    return WeightsLink(shared, settings, rank, lock)
