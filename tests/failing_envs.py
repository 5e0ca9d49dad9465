"""Environments that make a training fail in one way each."""

import os
import threading
import time
from typing import Any

import gymnasium
import numpy as np


class Bare(gymnasium.Env[np.ndarray, np.int64]):
    """Ten steps with a reward of 1 each, whatever is done: no seed and no action makes a difference."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    length: float = 10
    made = 0

    def __init__(self) -> None:
        type(self).made += 1
        self.number = type(self).made
        self.steps = self.all_steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return np.ones(3, dtype=np.float32), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        self.all_steps += 1
        return np.ones(3, dtype=np.float32), self.reward(int(action)), self.steps >= self.length, False, {}

    def reward(self, action: int) -> float:
        return 1.0


class Endless(Bare):
    """Never ends."""

    length = float("inf")


class Turncoat(Bare):
    """Rewards action 1, and after a while punishes it so quickly that nobody unlearns it in time."""

    def reward(self, action: int) -> float:
        good = float(action)
        return good if self.all_steps < 1500 else -good


class Slow(Bare):
    """One of the workers takes its time."""

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        import multiprocessing

        time.sleep(0.05 if multiprocessing.current_process().name == "hogwild worker 0" else 0.0)
        return super().step(action)


class Slowest(Bare):
    """Everybody takes their time."""

    length = float("inf")

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        time.sleep(0.05)
        return super().step(action)


class Forgetful(Bare):
    """Can neither be saved nor repeated."""

    def __init__(self) -> None:
        super().__init__()
        self.held = threading.Lock()

    def reward(self, action: int) -> float:
        return os.urandom(1)[0] / 256


class Remembering(Forgetful):
    """Cannot be saved, and shows what it has kept from earlier episodes."""

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        _, reward, ended, cut, info = super().step(action)
        return np.full(3, self.all_steps / 1000, dtype=np.float32), reward, ended, cut, info


class Parent(Bare):
    """Starts two processes that never end, and leaves them."""

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if self.all_steps == 20:
            import multiprocessing
            import subprocess

            multiprocessing.get_context("fork").Process(target=time.sleep, args=(1e6,)).start()
            subprocess.Popen(["sleep", "1000000"])
            print("started two", flush=True)
        return super().step(action)


for kind in (Bare, Endless, Turncoat, Slow, Forgetful, Remembering, Parent, Slowest):
    gymnasium.register(f"{kind.__name__}-v0", entry_point=kind)
