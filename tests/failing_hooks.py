"""Hooks that hold up training."""

import time

import hogwild
from hogwild.rollout import Rollout


class Dawdling(hogwild.Hooks):
    """Sleeps through every rollout."""

    def on_rollout(self, rollout: Rollout) -> None:
        """Take a nap."""
        time.sleep(0.02)


class DawdlingAtEnds(hogwild.Hooks):
    """Sleeps after every game."""

    def on_episode(self, episode: object) -> None:
        """Take a longer nap."""
        time.sleep(0.2)
