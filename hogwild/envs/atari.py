"""Atari games stepped in C++: the fast path, for the standard preprocessing."""

import numpy as np

from hogwild.envs.batch import EnvBatch, Step
from hogwild.envs.protocols import Protocol
from hogwild.errors import EnvironmentFailed
from hogwild.policies.spec import PolicySpec, choice


class AtariBatch(EnvBatch):
    """A batch of one Atari game, emulated and preprocessed by ale-py's vector environment.

    Its traps are dealt with here: an action out of range would hang it for ever, and with life loss as an end the
    only sign of a real game over is that the game's frame counter starts again.
    """

    def __init__(
        self, rom: str, protocol: Protocol, num_envs: int, picture: tuple[int, int], frame_stack: int, threads: int = 1
    ) -> None:
        from ale_py.vector_env import AtariVectorEnv
        from gymnasium.vector import AutoresetMode

        self.num_envs = num_envs
        self.envs = AtariVectorEnv(
            rom,
            num_envs,
            num_threads=min(threads, num_envs),
            max_num_frames_per_episode=protocol.frame_limit,
            repeat_action_probability=protocol.sticky,
            full_action_space=protocol.full_actions,
            autoreset_mode=AutoresetMode.SAME_STEP,
            img_height=picture[0],
            img_width=picture[1],
            stack_num=frame_stack,
            frameskip=protocol.frame_skip[0],
            noop_max=protocol.noops,
            life_loss_info=protocol.life_loss,
            reward_clipping=False,
            use_fire_reset=protocol.fire_reset,
        )
        shape = (frame_stack, *picture)
        self.spec = PolicySpec(shape, "uint8", choice(int(self.envs.single_action_space.n)))
        self._frame = np.zeros(num_envs, dtype=np.int64)

    def reset(self, seeds: list[int]) -> np.ndarray:
        """First observations."""
        observations, info = self.envs.reset(seed=np.asarray(seeds, dtype=np.int64))
        self._frame = info["episode_frame_number"].copy()
        return np.asarray(observations)

    def step(self, actions: np.ndarray) -> Step:
        """Take one action in every environment."""
        if actions.min() < 0 or actions.max() >= self.spec.num_actions:
            raise EnvironmentFailed(f"action out of range 0…{self.spec.num_actions - 1}: {actions.tolist()}")
        observations, rewards, terminated, truncated, info = self.envs.step(actions)
        frame = info["episode_frame_number"]
        game_over = (frame <= self._frame) | truncated
        self._frame = frame.copy()
        return Step(observations, rewards, terminated, truncated, game_over, info.get("final_obs"))

    def close(self) -> None:
        """Release the emulators."""
        self.envs.close()
