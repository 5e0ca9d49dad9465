"""Two ways to watch: a worker at its real work, or a game of one's own with the newest weights."""

import time
from collections import deque
from typing import Any

import numpy as np
import torch

from hogwild.agent import Agent
from hogwild.envs.atari_game import AtariGame
from hogwild.envs.gymnasium_batch import guarded
from hogwild.envs.make import make_one
from hogwild.errors import EnvironmentFailed, UsageError
from hogwild.live.mailbox import Inbox
from hogwild.live.weights import WeightsInbox
from hogwild.policies.flat import FlatLayout
from hogwild.resolve import resolve
from hogwild.runs.checkpoint import Checkpoint, list_checkpoints
from hogwild.runs.find import find_checkpoint
from hogwild.runs.folder import RunFolder
from hogwild.session import load_weights
from hogwild.video import ATARI_SIZE
from hogwild.watching.scene import Scene, as_colours

ATARI_STEPS = 15  # a second, at four frames each
FIRST_WEIGHTS_SECONDS = 30.0
SCREEN = ATARI_SIZE[0] / ATARI_SIZE[1]


class WorkerView:
    """What a worker is playing right now, as its network receives it."""

    def __init__(self, folder: RunFolder, rank: int, actions: tuple[str, ...], wide: float, stacked: bool) -> None:
        self.inbox = Inbox(folder.live, rank)
        self.rank, self.actions, self.wide, self.stacked = rank, actions, wide, stacked
        self.steps_per_second = float(ATARI_STEPS)
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
        return Scene(
            title=f"worker {self.rank}",
            picture=picture,
            wide=self.wide,
            numbers=None if picture is not None else moment["observation"].ravel(),
            actions=self.actions,
            probabilities=moment["probabilities"],
            action=int(moment["action"]),
            value=float(moment["value"]),
            score=float(moment["score"]),
            length=int(moment["length"]),
        )


class SpectatorView:
    """A game in full colour, played outside the workers with the newest weights."""

    def __init__(self, folder: RunFolder, agent: Agent, seed: int = 0) -> None:
        self.agent, self.folder = agent, folder
        self.weights = WeightsInbox(folder.live)
        self.layout = FlatLayout(agent.policy)
        self.flat = self.layout.bind(agent.policy)
        self.screen: np.ndarray | None = None
        plan, settings = agent.plan.of_whole_games(), agent.settings.environment
        if plan.is_atari:
            game: Any = make_one(plan, settings, on_frame=self._take)
            game.load_carried(agent.carried[0] if agent.carried else {})
            self.env = game
            self.steps_per_second, self.wide = float(ATARI_STEPS), SCREEN
        else:
            self.env = guarded(plan.id, "be drawn", lambda: make_one(plan, settings, render_mode="rgb_array"))
            self.steps_per_second, self.wide = float(self.env.metadata.get("render_fps", 30)), 0.0
        self.actions = action_names(self.env, agent.spec.num_actions)
        self.random = torch.Generator().manual_seed(seed)
        self.observation: np.ndarray = self.env.reset(seed=seed)[0]
        self.memory, self.first = agent.policy.initial_state(1), True
        self.score, self.length = 0.0, 0
        if not plan.is_atari:
            guarded(plan.id, "be drawn", self._draw)  # better now than in the middle of a game

    def _take(self, frame: np.ndarray) -> None:
        self.screen = frame

    def look(self, steps: int) -> Scene | None:
        """Play so many steps, at least one; shows the last."""
        newer = self.weights.newer() if self.folder.is_live() else None
        if newer is not None:
            load_weights(self.layout, self.flat, newer)
        for _ in range(max(1, steps) - 1):
            self._step()
        return self._step()

    def _step(self) -> Scene:
        batch, _ = self.agent.batch_of(np.asarray(self.observation))
        with torch.no_grad():
            out = self.agent.policy(torch.from_numpy(batch)[None], self.memory, torch.tensor([[self.first]]))
        self.memory = out.state
        probabilities = out.log_probs[0, 0].exp()
        action = int(torch.multinomial(probabilities, 1, generator=self.random))
        self.observation, reward, terminated, truncated, info = self.env.step(action + self.agent.spec.first_action)
        self.score, self.length, self.first = self.score + float(reward), self.length + 1, False
        picture = self.screen if self.screen is not None else guarded(self.agent.plan.id, "be drawn", self._draw)
        height, width = picture.shape[:2]
        scene = Scene(
            title="spectator",
            picture=picture,
            wide=self.wide or width / height,
            numbers=None,
            actions=self.actions,
            probabilities=probabilities.numpy(),
            action=action,
            value=float(out.value[0, 0]),
            score=self.score,
            length=self.length,
        )
        if info.get("game_over", terminated) or truncated:
            self._start_anew()
        return scene

    def _draw(self) -> np.ndarray:
        picture = self.env.render()
        if picture is None:
            raise EnvironmentFailed("its render() shows nothing")
        return np.asarray(picture)

    def _start_anew(self) -> None:
        self.observation = self.env.reset()[0]
        self.memory, self.first = self.agent.policy.initial_state(1), True
        self.score, self.length = 0.0, 0


View = WorkerView | SpectatorView


def make_worker_view(folder: RunFolder, rank: int) -> WorkerView:
    """The view of one worker of a run."""
    from hogwild.api import Run

    resolved = resolve(Run(folder.path).settings)
    plan, spec = resolved.plan, resolved.spec
    if plan.is_atari:
        env = make_one(plan, resolved.settings.environment)
        return WorkerView(folder, rank, action_names(env, spec.num_actions), SCREEN, stacked=True)
    wide = spec.observation_shape[2] / spec.observation_shape[1] if spec.is_image else 1.0
    return WorkerView(folder, rank, action_names(None, spec.num_actions), wide, stacked=False)


def action_names(env: Any, count: int) -> tuple[str, ...]:
    """What the actions are called, where the environment has names for them."""
    if isinstance(env, AtariGame):
        return tuple(name.lower() for name in env.names)
    return tuple(f"action {number}" for number in range(count))


def newest_agent(folder: RunFolder) -> Agent:
    """The agent with the newest weights; of a run that has saved none yet, those it shows when asked."""
    from hogwild.api import Run

    settings = resolve(Run(folder.path).settings).settings
    if list_checkpoints(folder.checkpoints) or not folder.is_live():
        path, checkpoint = find_checkpoint(folder)
        return Agent(settings, checkpoint, path)
    inbox, deadline = WeightsInbox(folder.live), time.monotonic() + FIRST_WEIGHTS_SECONDS
    while (weights := inbox.newer()) is None:
        if not folder.is_live() or time.monotonic() > deadline:
            raise UsageError(f"Run '{folder.path}' has no weights to show yet.")
        time.sleep(0.1)
    return Agent(settings, Checkpoint(weights, {}, {"progress": {"steps": 0}, "carried": []}), folder.live)
