"""RLlib: IMPALA and APPO on Pong, with the network and the preprocessing that all others have."""

import argparse
from typing import Any

import ale_py
import gymnasium
import ray
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation, TransformObservation
from meter import Meter, arguments
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.tune import register_env

NATURE = DefaultModelConfig(
    conv_filters=[(32, 8, 4), (64, 4, 2), (64, 3, 1)], fcnet_hiddens=[], head_fcnet_hiddens=[512], vf_share_layers=True
)


def pong(_: Any) -> gymnasium.Env[Any, Any]:
    """Pong under the standard preprocessing; RLlib wants the stacked pictures last."""
    gymnasium.register_envs(ale_py)
    game = AtariPreprocessing(gymnasium.make("PongNoFrameskip-v4"), scale_obs=True)
    stacked = FrameStackObservation(game, 4)
    last = gymnasium.spaces.Box(0.0, 1.0, (84, 84, 4))
    return TransformObservation(stacked, lambda pictures: pictures.transpose(1, 2, 0), last)


def main() -> None:
    parser = arguments(argparse.ArgumentParser())
    parser.add_argument("--algorithm", choices=("impala", "appo"), default="impala")
    parser.add_argument("--runners", type=int, default=2)
    parser.add_argument("--envs", type=int, default=1)
    given = parser.parse_args()
    ray.init(include_dashboard=False, log_to_driver=False)
    register_env("pong", pong)
    config = IMPALAConfig() if given.algorithm == "impala" else APPOConfig()
    config = (
        config.environment("pong", clip_rewards=True)
        .env_runners(num_env_runners=given.runners, num_envs_per_env_runner=given.envs)
        .learners(num_learners=0)
        .rl_module(model_config=NATURE)
        .reporting(min_time_s_per_iteration=1)
    )
    algorithm, meter = config.build_algo(), Meter(given.seconds, given.warm_up)
    while True:
        learners = algorithm.train().get("learners", {})
        meter.at(int(learners.get("__all_modules__", {}).get("num_env_steps_trained_lifetime", 0)))


if __name__ == "__main__":
    main()
