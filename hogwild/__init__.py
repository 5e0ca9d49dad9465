"""Hogwild: asynchronous actor-critic training, for Atari and any Gymnasium environment.

    run = hogwild.train("CartPole-v1", steps=100_000)
    agent = hogwild.load(run)

Names are loaded when they are first used, so that importing the package is instant.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hogwild.agent import Agent
    from hogwild.api import Run, load, train
    from hogwild.errors import HogwildError
    from hogwild.hooks import Hooks
    from hogwild.policies.policy import Policy

__version__ = "0.1.0"
__all__ = ["Agent", "HogwildError", "Hooks", "Policy", "Run", "load", "train"]

_HOMES = {
    "Agent": "agent",
    "HogwildError": "errors",
    "Hooks": "hooks",
    "Policy": "policies.policy",
    "Run": "api",
    "load": "api",
    "train": "api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hogwild' has no attribute '{name}'")
    return getattr(importlib.import_module(f"hogwild.{_HOMES[name]}"), name)
