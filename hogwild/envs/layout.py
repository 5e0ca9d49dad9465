"""What lies between an environment's spaces and a policy's arrays."""

from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium import spaces

from hogwild.envs.actions import Actions, action_parts
from hogwild.envs.atari_game import AtariGame
from hogwild.envs.observations import MASK, Observations, leaves, left_out
from hogwild.errors import UsageError
from hogwild.policies.spec import PolicySpec


@dataclass(frozen=True)
class Layout:
    """How an environment's observations reach a policy, and a policy's actions an environment."""

    observations: Observations
    actions: Actions
    spec: PolicySpec


def read_layout(name: str, env: gymnasium.Env[Any, Any], rescale_actions: bool = True) -> Layout:
    """The layout of an environment; spaces that cannot be trained on are refused by name.

    >>> read_layout("CartPole-v1", gymnasium.make("CartPole-v1")).spec.observation_shape
    (4,)
    """
    parts = tuple(action_parts(name, env.action_space))
    choices = tuple(part.size for part in parts if part.kind == "choice")
    observed = env.observation_space
    in_observation = isinstance(observed, spaces.Dict) and MASK in observed.spaces
    read = tuple(sorted(leaves(name, observed), key=lambda leaf: not leaf.part.is_image))  # pictures first
    in_info = bool(choices) and not in_observation and _tells_mask(env)
    found = Observations(
        read,
        getattr(observed, "dtype", None),
        masked=choices if in_observation or in_info else (),
        mask_in_info=in_info,
        mask_space=env.action_space,
    )
    if not found.leaves:
        raise UsageError(f"'{name}' has observations {observed}, in which there is nothing that a policy could read.")
    packed = tuple(leaf.part for leaf in found.leaves) if found.is_packed else ()
    spec = PolicySpec(
        found.policy_shape, found.dtype, parts, packed, is_masked=found.mask_size > 0, unread=tuple(left_out(observed))
    )
    return Layout(found, Actions(env.action_space, rescale_actions), spec)


def first_answer(env: gymnasium.Env[Any, Any], **words: Any) -> tuple[Any, dict[str, Any]]:
    """What an environment answers to a reset, if it is what Gymnasium asks for."""
    answer = env.reset(**words)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise TypeError(f"it answered {type(answer).__name__}, not a tuple of 2: (observation, info)")
    return answer


def _tells_mask(env: gymnasium.Env[Any, Any]) -> bool:
    """Whether an environment says with its first observation which actions are allowed."""
    return not isinstance(env.unwrapped, AtariGame) and MASK in first_answer(env, seed=0)[1]
