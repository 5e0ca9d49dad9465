"""A worker at its real work, as its network receives it. Needs no torch, so that anybody can look on cheaply."""

from collections import deque
from typing import Any

import numpy as np

from hogwild.envs.atari_game import AtariGame
from hogwild.envs.ids import plan_env
from hogwild.envs.make import make_one
from hogwild.images import as_colours
from hogwild.live.mailbox import Inbox
from hogwild.resolve import read_settings
from hogwild.runs.folder import RunFolder
from hogwild.watching.scene import ATARI_STEPS, SCREEN, Scene


class WorkerView:
    """What a worker is playing right now, as its network receives it."""

    def __init__(self, folder: RunFolder, rank: int, actions: tuple[str, ...], wide: float, stacked: bool) -> None:
        self.inbox = Inbox(folder.live, rank)
        self.rank, self.actions, self.wide, self.stacked = rank, actions, wide, stacked
        self.steps_per_second = ATARI_STEPS
        self.waiting: deque[np.ndarray] = deque()

    def look(self, steps: int) -> Scene | None:
        """The next moment of a slow view; for one that shows all it can, `steps` 0, the newest."""
        self.inbox.look()
        if not steps:
            self.waiting.clear()
        if not self.waiting:  # what the ring has lost in the meantime is left out
            self.waiting.extend(self.inbox.moments())
        if not self.waiting:
            return None
        moment = self.waiting.popleft() if steps else self.waiting.pop()
        picture = as_colours(moment["observation"], self.stacked)
        spec = self.inbox.spec
        assert spec is not None  # it comes with the first moment
        return Scene(
            title=f"worker {self.rank}",
            picture=picture,
            wide=self.wide or (1.0 if picture is None else picture.shape[1] / picture.shape[0]),
            numbers=None if picture is not None else moment["observation"].ravel(),
            seen=moment["observation"],
            actions=self.actions or spec.action_names(),
            are_numbers=spec.are_numbers(),
            probabilities=moment["probabilities"],
            taken=moment["taken"],
            value=float(moment["value"]),
            score=float(moment["score"]),
            length=int(moment["length"]),
        )


def make_worker_view(folder: RunFolder, rank: int) -> WorkerView:
    """The view of one worker of a run. Nothing is made but an Atari game, for its names: others might run code."""
    settings = read_settings(folder.config)
    plan = plan_env(settings)
    if not plan.is_atari:
        return WorkerView(folder, rank, (), 0.0, stacked=False)
    actions = atari_names(make_one(plan, settings.environment))
    return WorkerView(folder, rank, actions, SCREEN, stacked=True)


def atari_names(env: Any) -> tuple[str, ...]:
    """What the actions of a game are called; empty for everything else."""
    return tuple(name.lower() for name in env.names) if isinstance(env, AtariGame) else ()
