"""A trained policy, ready to play."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor

from hogwild.config.settings import Settings
from hogwild.envs.atari_game import AtariGame
from hogwild.envs.ids import EnvPlan, plan_env
from hogwild.envs.make import layout_of, make_one
from hogwild.policies.flat import FlatLayout
from hogwild.policies.make import make_policy
from hogwild.runs.checkpoint import Checkpoint
from hogwild.runs.resuming import refusing_nonsense


class Agent:
    """A policy with its weights; `predict` follows Stable-Baselines3's protocol, so tools made for it work here."""

    def __init__(self, settings: Settings, checkpoint: Checkpoint, source: Path, seed: int = 0) -> None:
        from hogwild.session import load_weights

        self.settings = settings
        self.layout = layout_of(self.plan, settings.environment, settings.execution.env_timeout)
        self.spec = self.layout.spec
        self.source = source
        with refusing_nonsense(f"Checkpoint '{source}'"):
            self.steps = int(checkpoint.state["progress"]["steps"])
            self.carried: list[dict[str, float]] = [dict(c) for worker in checkpoint.state["carried"] for c in worker]
        self.policy = make_policy(self.spec, settings.policy)
        layout = FlatLayout(self.policy)
        load_weights(layout, layout.bind(self.policy), checkpoint.weights)
        self.policy.eval()
        self.generator = torch.Generator().manual_seed(seed)

    @property
    def plan(self) -> EnvPlan:
        """The environment that the agent was trained on."""
        return plan_env(self.settings)

    def make_env(self, render_mode: str | None = None) -> gymnasium.Env[Any, Any]:
        """One environment with the preprocessing that the agent was trained with, and whole games as episodes."""
        env = make_one(self.plan.of_whole_games(), self.settings.environment, render_mode=render_mode)
        if isinstance(env, AtariGame) and self.carried:
            env.load_carried(self.carried[0])
        return env

    @torch.no_grad()
    def predict(
        self,
        observation: Any,
        state: tuple[np.ndarray, ...] | None = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
        action_masks: np.ndarray | None = None,
    ) -> tuple[Any, tuple[np.ndarray, ...] | None]:
        """Actions for one observation or a batch of them, and the memory to pass to the next call.

        `state` is what the last call answered, None at the beginning; `episode_start` marks where in the batch a new
        episode begins. A policy without memory answers None as state. `action_masks` say which choices are allowed, in
        environments that tell it in `info`.

        >>> import tempfile, hogwild
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run = hogwild.train("CartPole-v1", steps=200, engine="inline", workers=1, runs=folder)
        ...     agent = hogwild.load(run)
        >>> action, state = agent.predict(np.zeros(4, dtype=np.float32), deterministic=True)
        >>> int(action) in (0, 1), state
        (True, None)
        """
        batch, is_single = self.batch_of(observation, action_masks)
        memory = self.policy.initial_state(len(batch))
        if state is not None:
            memory = torch.from_numpy(np.asarray(state[0], dtype=np.float32))
        starts = torch.zeros(len(batch), dtype=torch.bool)
        if episode_start is not None:
            starts = torch.from_numpy(np.atleast_1d(np.asarray(episode_start, dtype=bool)))
        out = self.policy(torch.from_numpy(batch)[None], memory, starts[None])
        actions = self.layout.actions(self.choose(out.parameters[0], deterministic))
        following = (out.state.numpy(),) if self.policy.memory.state_size else None
        return (actions[0] if is_single else actions), following

    def choose(self, parameters: Tensor, deterministic: bool = False) -> np.ndarray:
        """Actions as they leave the policy, [N] or [N, K], from what it says about them, [N, P]."""
        actions = self.policy.actions
        if deterministic:
            chosen = actions.mode(parameters)
        else:
            chosen = actions.sample(parameters, torch.rand(len(parameters), actions.draws, generator=self.generator))
        return actions.played(chosen).numpy()

    def batch_of(self, observation: Any, mask: np.ndarray | None = None) -> tuple[np.ndarray, bool]:
        """The observations as the policy wants them, and whether it was a single one."""
        return self.layout.observations.read(observation, mask)
