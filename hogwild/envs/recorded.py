"""A batch of environments beside which everything is written down that led to a fault."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hogwild.envs.batch import EnvBatch, Fault, Step
from hogwild.envs.blackbox import BlackBox, Played
from hogwild.envs.env_state import Unrepeatable

MOST_CAPSULES = 3  # of one worker: the next fault is most often the same one
Keep = Callable[[Fault, list[Played]], str]  # puts what led to a fault into a capsule, and answers where it is


class RecordedBatch(EnvBatch):
    """Another batch, with a black box."""

    def __init__(self, inner: EnvBatch, path: Path, keep: Keep) -> None:
        self.inner = inner
        self.num_envs = inner.num_envs
        self.spec = inner.spec
        self.keep = keep
        self.kept = 0
        self.box = BlackBox.create(path, inner.spec, inner.num_envs, inner.seeds is not None)

        self.begun = np.zeros(inner.num_envs, dtype=np.int64)  # the seeds with which the tapes begin

    @property
    def seeds(self) -> np.ndarray | None:  # type: ignore[override]
        """That every environment took last."""
        return self.inner.seeds

    def reset(self, seeds: list[int]) -> np.ndarray:
        """First observations."""
        self.begun[:] = seeds
        self.box.begin(slice(None), self.begun)
        return self.inner.reset(seeds)

    def step(self, actions: np.ndarray) -> Step:
        """Take one action in every environment."""
        self.box.add(actions)
        step = self.inner.step(actions)
        if step.faults:
            step = dataclasses.replace(step, faults=tuple(self._keep(fault) for fault in step.faults))
        seeds = self.inner.seeds
        if seeds is not None and step.final_observations is not None:  # a seed is taken at the end of an episode only
            self._begin(seeds)
        return step

    def _begin(self, seeds: np.ndarray) -> None:
        """Where a new seed was taken, what came before it is no longer needed."""
        new = seeds != self.begun
        if new.any():
            self.box.begin(new, seeds[new])
            self.begun[new] = seeds[new]

    def _keep(self, fault: Fault) -> Fault:
        if self.kept >= MOST_CAPSULES:
            return fault
        self.kept += 1
        return dataclasses.replace(fault, capsule=self.keep(fault, [self.box.played()[fault.index]]))

    def state(self) -> dict[str, Any] | None:
        """Everything needed to go on from here: states of environments or, where these cannot be had, the seeds and
        actions that led here."""
        own = self.inner.state()
        if own is not None or self.inner.seeds is None:
            return own
        played = self.box.played()
        if not all(each.is_whole for each in played):
            return None
        tapes = [{"seed": each.seed, "actions": np.asarray(each.actions)} for each in played]
        return {"played": tapes, "seen": self.inner.seen.copy()}

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        if "played" not in state:
            self.box.spoil()
            self.inner.load_state(state)
            if self.inner.seeds is not None:
                self.begun[:] = self.inner.seeds
            return
        self.begun[:] = [each["seed"] for each in state["played"]]
        self.box.add_tapes(self.begun, [each["actions"] for each in state["played"]])
        for index, each in enumerate(state["played"]):
            self.inner.replay(index, int(each["seed"]), list(each["actions"]))
        if not np.array_equal(self.inner.seen, state["seen"]):  # such as one that keeps something between episodes
            raise Unrepeatable("this environment does not repeat itself: the same seed and actions led elsewhere")

    def carried(self) -> list[dict[str, float]]:
        """What preprocessing has learned."""
        return self.inner.carried()

    def load_carried(self, carried: list[dict[str, float]]) -> None:
        """Take over what preprocessing had learned."""
        self.inner.load_carried(carried)

    def close(self) -> None:
        """Release what the environments hold; nothing has led to a fault."""
        self.inner.close()
        self.box.remove()
