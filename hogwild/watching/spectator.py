"""A game of one's own, played in full colour outside the workers with the newest weights."""

import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hogwild.agent import Agent
from hogwild.envs.atari_game import AtariGame
from hogwild.envs.foreign import guarded
from hogwild.envs.make import make_one
from hogwild.envs.observations import MASK
from hogwild.errors import UsageError
from hogwild.images import as_screen
from hogwild.live.weights import WeightsInbox
from hogwild.policies.flat import FlatLayout
from hogwild.resolve import read_settings, resolve
from hogwild.runs.checkpoint import Checkpoint, list_checkpoints
from hogwild.runs.find import find_checkpoint
from hogwild.runs.folder import RunFolder
from hogwild.session import load_weights
from hogwild.watching.scene import ATARI_STEPS, SCREEN, Scene
from hogwild.watching.worker_view import atari_names

FIRST_WEIGHTS_SECONDS = 30.0


class SpectatorView:
    """A game in full colour, played outside the workers with the newest weights."""

    def __init__(self, folder: RunFolder, agent: Agent, seed: int = 0) -> None:
        self.agent, self.folder = agent, folder
        self.weights = WeightsInbox(folder.live)
        self.layout = FlatLayout(agent.policy)
        self.flat = self.layout.bind(agent.policy)
        plan, settings = agent.plan.of_whole_games(), agent.settings.environment
        if plan.is_atari:
            game: Any = make_one(plan, settings)
            game.load_carried(agent.carried[0] if agent.carried else {})
            self.env = game
            self.steps_per_second, self.wide = ATARI_STEPS, SCREEN
        else:
            self.env = guarded(plan.id, "be drawn", lambda: make_one(plan, settings, render_mode="rgb_array"))
            self.steps_per_second, self.wide = float(self.env.metadata.get("render_fps", 30)), 0.0
        self.actions = atari_names(self.env) or agent.spec.action_names()
        agent.generator.manual_seed(seed)
        self.observation, self.info = guarded(plan.id, "reset", lambda: self.env.reset(seed=seed))
        self.memory, self.first = agent.policy.initial_state(1), True
        self.score, self.length = 0.0, 0
        if not plan.is_atari:
            guarded(plan.id, "be drawn", self._draw)  # better now than in the middle of a game

    def look(self, steps: int) -> Scene | None:
        """Play so many steps, at least one; shows the last."""
        newer = self.weights.newer() if self.folder.is_live() else None
        if newer is not None:
            load_weights(self.layout, self.flat, newer)
        for _ in range(max(1, steps) - 1):
            self._step()
        return self._step()

    def asked(self) -> tuple[Tensor, Tensor, Tensor]:
        """What the policy is asked next: one observation, the memory before it, and whether an episode begins."""
        batch, _ = self.agent.batch_of(self.observation, self.info.get(MASK))
        return torch.from_numpy(batch[0]), self.memory, torch.tensor([[self.first]])

    def _step(self) -> Scene:
        picture = self._picture()
        observation, memory, first = self.asked()
        with torch.no_grad():
            out = self.agent.policy(observation[None, None], memory, first)
        self.memory = out.state
        action = self.agent.choose(out.parameters[0])
        self.observation, reward, terminated, truncated, self.info = guarded(
            self.agent.plan.id, "step", lambda: self.env.step(self.agent.layout.actions(action)[0])
        )
        self.score, self.length, self.first = self.score + float(reward), self.length + 1, False
        height, width = picture.shape[:2]
        scene = Scene(
            title="spectator",
            picture=picture,
            wide=self.wide or width / height,
            numbers=None,
            seen=observation.numpy(),
            actions=self.actions,
            are_numbers=self.agent.spec.are_numbers(),
            probabilities=self.agent.policy.actions.shown(out.parameters[0, 0]).numpy(),
            taken=self.agent.spec.taken(action[0]),
            value=float(out.value[0, 0]),
            score=self.score,
            length=self.length,
        )
        if self.info.get("game_over", terminated) or truncated:
            self._start_anew()
        return scene

    def _picture(self) -> np.ndarray:
        """The game in colour, as it is when the agent decides."""
        if isinstance(self.env, AtariGame):
            return np.asarray(self.env.ale.getScreenRGB())
        drawn: np.ndarray = guarded(self.agent.plan.id, "be drawn", self._draw)
        return drawn

    def _draw(self) -> np.ndarray:
        return as_screen(self.env.render())

    def _start_anew(self) -> None:
        self.observation, self.info = guarded(self.agent.plan.id, "reset", self.env.reset)
        self.memory, self.first = self.agent.policy.initial_state(1), True
        self.score, self.length = 0.0, 0


def newest_agent(folder: RunFolder) -> Agent:
    """The agent with the newest weights; of a run that has saved none yet, those it shows when asked."""
    settings = resolve(read_settings(folder.config)).settings
    if list_checkpoints(folder.checkpoints) or not folder.is_live():
        path, checkpoint = find_checkpoint(folder)
        return Agent(settings, checkpoint, path)
    inbox, deadline = WeightsInbox(folder.live), time.monotonic() + FIRST_WEIGHTS_SECONDS
    while (weights := inbox.newer()) is None:
        if not folder.is_live() or time.monotonic() > deadline:
            raise UsageError(f"Run '{folder.path}' has no weights to show yet.")
        time.sleep(0.1)
    return Agent(settings, Checkpoint(weights, {}, {"progress": {"steps": 0}, "carried": []}), folder.live)
