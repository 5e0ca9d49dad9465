"""Hooks of your own: metrics from rollouts and updates, and something to do when games end or weights are saved.

hogwild train CartPole-v1 --hooks own_hooks:Diary
"""

from collections.abc import Mapping
from pathlib import Path

import hogwild
from hogwild.report import Episode
from hogwild.rollout import Rollout


class Diary(hogwild.Hooks):
    """Says what it sees; `own/…` stands beside all other metrics, in the files, in TensorBoard and in the dashboard."""

    def __init__(self) -> None:
        self.best = float("-inf")

    def on_rollout(self, rollout: Rollout) -> Mapping[str, float]:
        """In the worker: how surprised is it?"""
        return {"surprise": -rollout.log_probs.mean().item()}

    def on_update(self, metrics: Mapping[str, float]) -> Mapping[str, float]:
        """Where gradients are computed."""
        return {"gradient_is_small": float(metrics["gradient/norm"] < 0.1)}

    def on_episode(self, episode: Episode) -> None:
        """In the coordinator."""
        self.best = max(self.best, episode.episode_return)

    def on_checkpoint(self, path: Path) -> None:
        """In the coordinator: a note beside the weights' folder."""
        (path.parent.parent / "diary.txt").write_text(f"best game before {path.name}: {self.best:g}\n")
