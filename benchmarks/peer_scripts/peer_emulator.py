"""The emulator alone: ale-py's vector of 128 games on two threads, random actions, nothing learned. The ceiling."""

import argparse
import os

import numpy as np
from ale_py.vector_env import AtariVectorEnv
from meter import Meter, arguments


def main() -> None:
    parser = arguments(argparse.ArgumentParser())
    parser.add_argument("--envs", type=int, default=128)
    parser.add_argument("--height", type=int, default=84)
    parser.add_argument("--width", type=int, default=84)
    parser.add_argument("--stack", type=int, default=4)
    given = parser.parse_args()
    picture = {"img_height": given.height, "img_width": given.width, "stack_num": given.stack}
    games = AtariVectorEnv("pong", given.envs, num_threads=os.cpu_count() or 1, **picture)
    games.reset(seed=0)
    generator, meter, steps = np.random.default_rng(0), Meter(given.seconds, given.warm_up), 0
    while True:
        games.step(generator.integers(games.single_action_space.n, size=given.envs))
        steps += given.envs
        meter.at(steps)


if __name__ == "__main__":
    main()
