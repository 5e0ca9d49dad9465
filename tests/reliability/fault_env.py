"""CartPole with a fault, which variables of the process choose: what goes wrong, after how many steps, and in whom."""

import multiprocessing
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv

ID = "tests.reliability.fault_env:FaultyCartPole-v0"
LEAKED: list[Any] = []


class FaultyCartPole(CartPoleEnv):
    """CartPole, until its fault is due."""

    def __init__(self) -> None:
        super().__init__()
        self.fault = os.environ.get("FAULT", "")
        self.after = int(os.environ.get("FAULT_AFTER", "200"))
        self.chance = float(os.environ.get("FAULT_CHANCE", "1"))
        self.count = 0
        self.fire("init")

    def is_due(self) -> bool:
        """Whether the fault is to happen now: in the worker that is meant, after its steps, by chance, and once only if
        a file is named that remembers it."""
        who = os.environ.get("FAULT_WHO", "hogwild worker 0")
        if who not in ("anybody", multiprocessing.current_process().name) or random.random() > self.chance:
            return False
        once = os.environ.get("FAULT_ONCE", "")
        if not once:
            return self.count >= self.after
        if self.count < self.after or Path(once).exists():
            return False
        Path(once).touch()
        return True

    def fire(self, where: str) -> None:
        """Do what cannot be undone, if it is time."""
        if not self.fault.startswith(where) or not self.is_due():
            return
        kind = self.fault.partition("-")[2]
        if kind == "raises":
            raise RuntimeError(f"the wheel came off in {where}")
        if kind == "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        if kind == "exits":
            sys.exit(3)
        if kind == "vanishes":
            os._exit(0)
        if kind == "hangs":
            time.sleep(1e6)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.fire("reset")
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> Any:
        self.count += 1
        self.fire("step")
        observation, reward, ended, cut, info = super().step(action)
        if self.fault and "-" not in self.fault and self.is_due():
            observation, reward = self.spoiled(observation, reward)
            if self.fault == "short":
                return observation, reward, ended, info
        return observation, reward, ended, cut, info

    def spoiled(self, observation: np.ndarray, reward: float) -> tuple[Any, float]:
        """What step answers when it is wrong."""
        if self.fault == "nan":
            observation = observation * np.float32(np.nan)
        elif self.fault == "infinite":
            observation = observation + np.float32(np.inf)
        elif self.fault == "shape":
            observation = np.zeros(7, dtype=np.float32)
        elif self.fault == "reward":
            reward = float("nan")
        elif self.fault == "outside":
            observation = observation + np.float32(1e3)
        elif self.fault == "huge":
            reward = 1e38
        elif self.fault == "leak":
            LEAKED.append(np.ones(125_000))
        elif self.fault == "files":
            LEAKED.append(os.open(os.devnull, os.O_RDONLY))
        elif self.fault == "slow":
            time.sleep(0.05)
        elif self.fault == "prints":
            print("x" * 10_000)
        return observation, reward


gymnasium.register("FaultyCartPole-v0", FaultyCartPole, max_episode_steps=500)
