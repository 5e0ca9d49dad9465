"""CartPole with a fault, which variables choose: what goes wrong, after how many steps, and in whom. They are the
process's own, or in a file that one of them names: processes that are forked have those of the server they come from.
"""

import json
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv

ID = "tests.reliability.fault_env:FaultyCartPole-v0"
LEAKED: list[Any] = []


def variables() -> Mapping[str, str]:
    """What was chosen."""
    if "FAULT" in os.environ or "FAULT_FILE" not in os.environ:
        return os.environ
    chosen: dict[str, str] = json.loads(Path(os.environ["FAULT_FILE"]).read_text())
    return chosen


class FaultyCartPole(CartPoleEnv):
    """CartPole, until its fault is due."""

    def __init__(self) -> None:
        super().__init__()
        chosen = variables()
        self.fault = chosen.get("FAULT", "")
        self.after = int(chosen.get("FAULT_AFTER", "200"))
        self.chance = float(chosen.get("FAULT_CHANCE", "1"))
        self.who = chosen.get("FAULT_WHO", "hogwild worker 0")
        self.once = chosen.get("FAULT_ONCE", "")
        self.count = 0
        self.fire("init")

    def is_due(self) -> bool:
        """Whether the fault is to happen now: in the worker that is meant, after its steps, by chance, and once only if
        a file is named that remembers it."""
        if self.who not in ("anybody", multiprocessing.current_process().name) or random.random() > self.chance:
            return False
        if not self.once:
            return self.count >= self.after
        if self.count < self.after or Path(self.once).exists():
            return False
        Path(self.once).touch()
        return True

    def fire(self, where: str) -> None:
        """Do what cannot be undone, if it is time."""
        if not self.fault.startswith(where) or not self.is_due():
            return
        kind = self.fault.partition("-")[2]
        if kind == "raises":
            raise RuntimeError(f"the wheel came off in {where}")
        if kind.endswith("with-words"):
            os.write(2, b"the axle is about to break\n")
        if kind.startswith("forks") and os.fork() == 0:
            time.sleep(1e6)
        if kind.endswith("closes-files"):
            os.closerange(3, 256)
            time.sleep(1e6)
        if kind.startswith("segfault") or kind == "forks-and-segfaults":
            os.kill(os.getpid(), signal.SIGSEGV)
        if kind == "exits":
            sys.exit(3)
        if kind == "panics":
            raise BaseException("the road ends")
        if kind == "speechless":
            for number in (1, 2):
                os.close(number)
            self.fault = ""
        if kind == "vanishes":
            os._exit(0)
        if kind == "hangs":
            time.sleep(1e6)

    def close(self) -> None:
        self.fire("close")
        super().close()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.fire("reset")
        observation, info = super().reset(seed=seed, options=options)
        if self.fault.startswith("first-") and self.is_due():
            self.fault = self.fault.removeprefix("first-")
            observation, _ = self.spoiled(observation, 0.0)
            if self.fault == "short":
                return observation
        return observation, info

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
        elif self.fault == "words":
            observation = np.array(["left", "right", "up", "down"])
        elif self.fault == "endless":
            reward = float("inf")
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
