"""Tianshou: A2C and PPO on Pong, played by EnvPool."""

import argparse
from typing import Any

import ale_py
import gymnasium
import torch
from meter import Meter, arguments
from tianshou.algorithm import A2C, PPO
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory, RMSpropOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env.atari.atari_network import DQNet, ScaledObsInputActionReprNet, layer_init
from tianshou.env.atari.atari_wrapper import make_atari_env
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

gymnasium.register_envs(ale_py)


class CountingCollector(Collector):
    """Tells the meter how many steps have been learned from: all but those that it is about to collect."""

    def __init__(self, meter: Meter, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.meter = meter

    def collect(self, *arguments: Any, **named: Any) -> Any:
        """Called by the trainer when it has learned from all that was collected before."""
        self.meter.at(self.collect_step)
        return super().collect(*arguments, **named)


def main() -> None:
    parser = arguments(argparse.ArgumentParser())
    parser.add_argument("--algorithm", choices=("a2c", "ppo"), default="a2c")
    parser.add_argument("--envs", type=int, default=16)
    parser.add_argument("--steps", type=int, required=True, help="of all environments, for one round of learning")
    given = parser.parse_args()
    single, envs, _ = make_atari_env("PongNoFrameskip-v4", 0, given.envs, 1)
    actions = single.action_space.n
    pictures = DQNet(4, 84, 84, actions, features_only=True, output_dim_added_layer=512, layer_init=layer_init)
    features = ScaledObsInputActionReprNet(pictures)
    actor = DiscreteActor(preprocess_net=features, action_shape=actions, softmax_output=False)
    policy = ProbabilisticActorPolicy(
        actor=actor,
        dist_fn=lambda logits: torch.distributions.Categorical(logits=logits),
        action_scaling=False,
        action_space=single.action_space,
    )
    critic = DiscreteCritic(preprocess_net=features)
    if given.algorithm == "ppo":  # the settings of its example for Atari
        optimizer = AdamOptimizerFactory(lr=2.5e-4, eps=1e-5)
        algorithm = PPO(policy=policy, critic=critic, optim=optimizer, eps_clip=0.1, vf_coef=0.25, max_grad_norm=0.5)
        learning: dict[str, Any] = {"batch_size": 256, "update_step_num_repetitions": 4}
    else:
        optimizer = RMSpropOptimizerFactory(lr=7e-4, eps=1e-5)
        algorithm = A2C(policy=policy, critic=critic, optim=optimizer, vf_coef=0.25, max_grad_norm=0.5)
        learning = {"batch_size": None, "update_step_num_repetitions": 1}
    buffer = VectorReplayBuffer(2 * given.steps, given.envs, ignore_obs_next=True, save_only_last_obs=True, stack_num=4)
    collector = CountingCollector(Meter(given.seconds, given.warm_up), algorithm, envs, buffer)
    algorithm.run_training(
        OnPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1000,
            epoch_num_steps=100_000,
            collection_step_num_env_steps=given.steps,
            show_progress=False,
            verbose=False,
            **learning,
        )
    )


if __name__ == "__main__":
    main()
