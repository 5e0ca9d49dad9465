"""An environment that draws from random states that are not its own, and writes down what it drew."""

import os
import random
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv

DRAWN = "HOGWILD_TEST_DRAWN"  # the variable that names the folder to write to


class Drawing(CartPoleEnv):  # type: ignore[type-arg]
    """CartPole; every process that builds one writes a file."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        folder = os.environ.get(DRAWN)
        if folder:
            Path(folder, str(os.getpid())).write_text(f"{random.random()} {np.random.rand()}")


gymnasium.register("Drawing-v0", entry_point=Drawing, max_episode_steps=100)
