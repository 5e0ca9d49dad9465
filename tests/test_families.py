"""Every family of environments trains with its own defaults, is evaluated, and learns where that takes seconds."""

from pathlib import Path

import numpy as np
import pytest

import hogwild
from hogwild.evaluation import evaluate
from hogwild.resolve import default_presets, layer

FAMILIES = {
    "CartPole-v1": ["vectors"],
    "Acrobot-v1": ["vectors"],
    "Pendulum-v1": ["control", "control-ppo"],
    "LunarLander-v3": ["vectors", "lunarlander"],
    "LunarLanderContinuous-v3": ["control", "control-ppo", "lunarlandercontinuous-ppo"],
    "BipedalWalker-v3": ["control", "control-ppo", "bipedalwalker-ppo"],
    "BipedalWalkerHardcore-v3": ["control", "control-ppo", "bipedalwalkerhardcore-ppo"],
    "HalfCheetah-v5": ["control", "control-ppo", "halfcheetah-ppo"],
    "Hopper-v5": ["control", "control-ppo"],
    "Walker2d-v5": ["control", "control-ppo"],
    "Ant-v5": ["control", "control-ppo", "ant-ppo"],
    "Humanoid-v5": ["control", "control-ppo", "humanoid-ppo"],
    "minigrid:MiniGrid-MemoryS7-v0": ["vectors", "minigrid"],
}


@pytest.mark.parametrize("env", FAMILIES)
def test_its_defaults_are_found_and_an_agent_comes_of_them(env: str, tmp_path: Path) -> None:
    assert default_presets(layer(env)) == FAMILIES[env]
    run = hogwild.train(env, engine="inline", workers=1, envs=2, minibatches=2, steps=600, runs=str(tmp_path))
    assert run.status["steps"] >= 600
    figures = evaluate(hogwild.load(run), episodes=1, greedy=True).summary()
    assert np.isfinite(figures["mean"])
