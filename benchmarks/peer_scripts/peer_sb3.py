"""Stable-Baselines3: A2C and PPO on Pong with the standard wrappers, or on environments that are vectors."""

import argparse
from typing import Any

import ale_py
import gymnasium
from meter import Meter, arguments
from sb3_contrib import RecurrentPPO
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_atari_env, make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv, VecFrameStack, VecNormalize

gymnasium.register_envs(ale_py)


class Count(BaseCallback):
    """Tells the meter how many steps have been learned from."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self.meter = meter

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self.meter.at(self.num_timesteps)


def main() -> None:
    parser = arguments(argparse.ArgumentParser())
    parser.add_argument("--algorithm", choices=("a2c", "ppo", "recurrent-ppo"), default="a2c")
    parser.add_argument("--env", default="PongNoFrameskip-v4")
    parser.add_argument("--envs", type=int, default=16)
    parser.add_argument("--subprocesses", action="store_true")
    parser.add_argument("--normalise", action="store_true", help="vectors: observations and rewards")
    parser.add_argument("--steps", type=int, default=2048, help="vectors, PPO: of each game in a rollout")
    parser.add_argument("--passes", type=int, default=10, help="vectors, PPO: over each rollout")
    given = parser.parse_args()
    vector: dict[str, Any] = {"vec_env_cls": SubprocVecEnv} if given.subprocesses else {}
    count = Count(Meter(given.seconds, given.warm_up))
    if "NoFrameskip" not in given.env:
        vectors = make_vec_env(given.env, n_envs=given.envs, seed=0, **vector)
        if given.normalise:
            vectors = VecNormalize(vectors)
        if given.algorithm == "a2c":
            model = A2C("MlpPolicy", vectors, device="cpu")
        else:
            model = PPO("MlpPolicy", vectors, device="cpu", n_steps=given.steps, n_epochs=given.passes, batch_size=64)
    else:
        envs = VecFrameStack(make_atari_env(given.env, n_envs=given.envs, seed=0, **vector), n_stack=4)
        if given.algorithm == "a2c":  # the settings of its zoo of trained agents
            model = A2C("CnnPolicy", envs, device="cpu", ent_coef=0.01, vf_coef=0.25)
        else:
            passes: dict[str, Any] = {"n_steps": 128, "n_epochs": 4, "batch_size": 256, "ent_coef": 0.01}
            if given.algorithm == "ppo":
                model = PPO("CnnPolicy", envs, device="cpu", **passes)
            else:
                model = RecurrentPPO("CnnLstmPolicy", envs, device="cpu", **passes)
    model.learn(100_000_000, callback=count)


if __name__ == "__main__":
    main()
