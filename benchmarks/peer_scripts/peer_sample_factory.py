"""Sample Factory: APPO on Pong, with the settings of its own example for Atari."""

import argparse
import tempfile

import ale_py.registration
from meter import Meter, arguments
from sample_factory.algo.runners.runner import AlgoObserver, Runner
from sample_factory.train import make_runner
from sf_examples.atari.train_atari import parse_atari_args, register_atari_components

ale_py.registration.register_v0_v4_envs()


class Count(AlgoObserver):
    """Tells the meter how many steps have been learned from."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter

    def on_training_step(self, runner: Runner, training_iteration_since_resume: int) -> None:  # noqa: ARG002
        """Called by the library after every training step."""
        self.meter.at(sum(runner.env_steps.values()))


def main() -> None:
    parser = arguments(argparse.ArgumentParser())
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--envs", type=int, default=1)
    parser.add_argument("--asynchronous", action="store_true")
    given = parser.parse_args()
    register_atari_components()
    flags = {
        "env": "atari_pong",
        "experiment": "speed",
        "train_dir": tempfile.mkdtemp(),
        "device": "cpu",
        "num_workers": given.workers,
        "num_envs_per_worker": given.envs,
        "async_rl": given.asynchronous,
        "worker_num_splits": 2 if given.asynchronous else 1,
        "summaries_use_frameskip": False,  # so that a step is a step
        "train_for_env_steps": 10**9,
        "decorrelate_experience_max_seconds": 1,  # so that it begins to learn at once
    }
    _, runner = make_runner(parse_atari_args([f"--{name}={value}" for name, value in flags.items()]))
    runner.register_observer(Count(Meter(given.seconds, given.warm_up)))
    runner.init()
    runner.run()


if __name__ == "__main__":
    main()
