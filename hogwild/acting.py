"""Playing: a policy drives a batch of environments and records what happens."""

import time
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from hogwild.envs.batch import EnvBatch, Fault, Step
from hogwild.envs.rewards import Rewards
from hogwild.faults.pulse import no_pulse
from hogwild.maths.persistence import hold, spread
from hogwild.policies.policy import Policy
from hogwild.rollout import Played, Rollout


class Onlooker(Protocol):
    """Somebody who looks on while a worker plays."""

    def is_there(self) -> bool:
        """Whether it is worth showing anything; asked before every rollout."""
        ...

    def see(self, **fields: Any) -> None:
        """What happened in the first environment; the fields are those of `hogwild.live.mailbox.moment_dtype`."""
        ...


class Actor:
    """Plays N environments with one policy and records rollouts of T steps.

    The tensors of a rollout are reused by the next one: learn from it, or copy it, before collecting again.
    """

    def __init__(
        self,
        policy: Policy,
        batch: EnvBatch,
        rollout_steps: int,
        *,
        seed: int,
        rewards: Rewards | None = None,
    ) -> None:
        self.policy = policy
        self.batch = batch
        self.steps = rollout_steps
        self.rewards_learned = rewards or Rewards(batch.num_envs)
        self.generator = torch.Generator().manual_seed(seed)
        self.persist(0.0)
        self.draws: Tensor | None = None  # by which the last actions were taken, where they may last
        n, t, device = batch.num_envs, rollout_steps, policy.device
        dtype = getattr(torch, batch.spec.observation_dtype)
        self.observations = torch.zeros(t + 1, n, *batch.spec.observation_shape, dtype=dtype, device=device)
        kind = getattr(torch, batch.spec.action_dtype)
        self.actions = torch.zeros(t, n, *batch.spec.action_shape, dtype=kind, device=device)
        self.log_probs = torch.zeros(t, n, device=device)
        self.values = torch.zeros(t + 1, n, device=device)
        self.rewards = torch.zeros(t, n, device=device)
        self.terminated = torch.zeros(t, n, dtype=torch.bool, device=device)
        self.truncated = torch.zeros(t, n, dtype=torch.bool, device=device)
        self.final_value = torch.zeros(t, n, device=device)
        self.first = torch.zeros(t + 1, n, dtype=torch.bool, device=device)
        self.state = policy.initial_state(n)
        self.returns = np.zeros(n)  # raw, of the games under way
        self.lengths = np.zeros(n, dtype=np.int64)
        self.episodes: list[tuple[float, int]] = []
        self.faults: list[Fault] = []  # since somebody asked
        self.env_seconds = 0.0
        self.act_seconds = 0.0
        self.heart = no_pulse()
        self.onlooker: Onlooker | None = None
        self.parameters: Tensor  # of the last step, for the onlooker

    def reset(self, seeds: list[int]) -> None:
        """Start all environments, each with its own seed."""
        self.observations[self.steps].copy_(torch.from_numpy(self.batch.reset(seeds)))
        self.first[self.steps] = True

    def persist(self, persistence: float) -> None:
        """From now on draws last so long: see `hogwild.maths.persistence`."""
        self.persistence = spread(persistence, self.batch.num_envs)

    def collect(self, version: int) -> Rollout:
        """Play T steps in every environment; the last observation of one rollout is the first of the next."""
        began, started = time.monotonic(), time.perf_counter()
        env_seconds = 0.0
        self.observations[0].copy_(self.observations[self.steps])
        self.first[0] = self.first[self.steps]
        self.rewards_learned.begin()
        self.state = self.policy.renew_dropout(self.state, self.generator)
        start_state = self.state.clone()
        uniform = self._draw().to(self.policy.device)
        self.episodes = []
        is_watched = self.onlooker is not None and self.onlooker.is_there()
        with torch.no_grad():
            for t in range(self.steps):
                actions = self._act(t, uniform[t])
                before = time.perf_counter()
                with self.heart:
                    step = self.batch.step(self.policy.actions.played(actions).cpu().numpy())
                env_seconds += time.perf_counter() - before
                self._record(t, step)
                if is_watched:
                    self._show(t, step)
                self._end_games(step)
            self._value_next()
        self.env_seconds = env_seconds
        self.act_seconds = time.perf_counter() - started - env_seconds
        return Rollout(
            observations=self.observations,
            actions=self.actions,
            log_probs=self.log_probs,
            values=self.values,
            rewards=self.rewards,
            terminated=self.terminated,
            truncated=self.truncated,
            final_value=self.final_value,
            first=self.first,
            state=start_state,
            played=(Played(version, began),),
            episodes=tuple(self.episodes),
        )

    def _draw(self) -> Tensor:
        """Random numbers that decide all actions of a rollout, [T, N, draws]."""
        fresh = torch.rand(self.steps, self.batch.num_envs, self.policy.actions.draws, generator=self.generator)
        if not self.persistence.any():
            return fresh
        kept = torch.rand(fresh.shape[:2], generator=self.generator) < self.persistence
        held = hold(fresh, kept.unsqueeze(-1), fresh[0] if self.draws is None else self.draws)
        self.draws = held[-1].clone()
        return held

    def _act(self, t: int, uniform: Tensor) -> Tensor:
        out = self.policy(self.observations[t : t + 1], self.state, self.first[t : t + 1])
        self.state = out.state
        self.parameters = out.parameters[0]
        actions = self.policy.actions.sample(self.parameters, uniform)
        self.actions[t] = actions
        self.log_probs[t] = self.policy.actions.log_probability(self.parameters, actions)
        self.values[t] = out.value[0]
        return actions

    def _record(self, t: int, step: Step) -> None:
        self.observations[t + 1].copy_(torch.from_numpy(step.observations))
        rewards = np.asarray(step.rewards, dtype=np.float32)
        self.returns += rewards
        self.lengths += 1
        learned = self.rewards_learned.take(rewards, step.terminated | step.truncated)
        self.rewards[t].copy_(torch.from_numpy(learned))
        self.terminated[t].copy_(torch.from_numpy(step.terminated))
        self.truncated[t].copy_(torch.from_numpy(step.truncated))
        self.first[t + 1] = self.terminated[t] | self.truncated[t]
        self.final_value[t] = 0.0
        if step.truncated.any():
            self._value_final(t, step)

    def _end_games(self, step: Step) -> None:
        for fault in step.faults:
            self.faults.append(fault)
            if not fault.is_harmless:
                self.returns[fault.index] = 0.0
                self.lengths[fault.index] = 0
        for index in np.flatnonzero(step.game_over):
            self.episodes.append((float(self.returns[index]), int(self.lengths[index])))
            self.returns[index] = 0.0
            self.lengths[index] = 0

    def _show(self, t: int, step: Step) -> None:
        """Let the onlooker see what happened in the first environment."""
        assert self.onlooker is not None
        self.onlooker.see(
            observation=self.observations[t, 0].cpu().numpy(),
            probabilities=self.policy.actions.shown(self.parameters[0]).cpu().numpy(),
            value=self.values[t, 0].item(),
            action=self.actions[t, 0].cpu().numpy(),
            taken=self.batch.spec.taken(self.policy.actions.played(self.actions[t, 0]).cpu().numpy()),
            log_prob=self.log_probs[t, 0].item(),
            reward=step.rewards[0],
            score=self.returns[0],
            length=self.lengths[0],
            over=step.game_over[0],
        )

    def _value_final(self, t: int, step: Step) -> None:
        """Value of the real last observation of episodes that were cut off, with the memory that led to it."""
        assert step.final_observations is not None
        device = self.policy.device
        cut = torch.from_numpy(step.truncated).to(device)
        final = torch.from_numpy(step.final_observations).to(device)[cut]
        out = self.policy(final[None], self.state[cut], torch.zeros(1, len(final), dtype=torch.bool, device=device))
        self.final_value[t, cut] = out.value[0]

    def _value_next(self) -> None:
        """Value of what comes after the rollout; it is not acted on yet, so the memory stays as it is."""
        end = slice(self.steps, self.steps + 1)
        self.values[end] = self.policy(self.observations[end], self.state, self.first[end]).value

    def save(self) -> dict[str, Any] | None:
        """Everything needed to play on exactly from here, or None if the environments cannot be saved."""
        environments = self.batch.state()
        if environments is None:
            return None
        draws = {} if self.draws is None else {"draws": self.draws.numpy()}
        return draws | {
            "environments": environments,
            "observations": self.observations[self.steps].cpu().numpy(),
            "first": self.first[self.steps].cpu().numpy(),
            "memory": self.state.cpu().numpy(),
            "random": self.generator.get_state().numpy(),
            "returns": self.returns,
            "lengths": self.lengths,
            "discounted": self.rewards_learned.so_far,
        }

    def load(self, saved: dict[str, Any]) -> None:
        """Play on from a saved moment."""
        self.batch.load_state(saved["environments"])
        self.observations[self.steps].copy_(torch.from_numpy(saved["observations"]))
        self.first[self.steps].copy_(torch.from_numpy(saved["first"]))
        self.state = torch.from_numpy(saved["memory"]).to(self.policy.device)
        self.generator.set_state(torch.from_numpy(saved["random"]))
        draws = saved.get("draws")
        self.draws = None if draws is None else torch.from_numpy(draws).reshape(self.batch.num_envs, -1).clone()
        self.returns = saved["returns"].copy()
        self.lengths = saved["lengths"].copy()
        self.rewards_learned.so_far = saved.get("discounted", self.rewards_learned.so_far).copy()
