"""The record that passes from acting to learning."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Played(NamedTuple):
    """Which weights played a rollout, and since when they have been at it."""

    version: int
    born: float = 0.0  # when they were pulled, on the clock `time.monotonic`


@dataclass(frozen=True)
class Rollout:
    """T steps of N environments by one worker. All tensors are time-major."""

    observations: Tensor  # [T+1, N, …]; the last one is only bootstrapped from
    actions: Tensor  # [T, N], or [T, N, K] where an action has several parts or is made of numbers
    log_probs: Tensor  # [T, N] of those actions, by the policy that took them
    values: Tensor  # [T+1, N] by the policy that acted; the last one is the bootstrap
    rewards: Tensor  # [T, N] as learned from: scaled and clipped
    terminated: Tensor  # [T, N] the episode ended here: nothing follows
    truncated: Tensor  # [T, N] the episode was cut off here: bootstrap from `final_value`
    final_value: Tensor  # [T, N] value of the real last observation where truncated, else 0
    first: Tensor  # [T+1, N] an episode begins with this observation: the memory starts empty
    state: Tensor  # [N, S] the memory before the first step
    played: tuple[Played, ...]  # of its worker; of several, where rollouts were joined
    episodes: tuple[tuple[float, int], ...] = ()  # raw return and length of the games that ended

    @property
    def steps(self) -> int:
        """Decisions in this rollout, over all its environments."""
        return self.rewards.numel()

    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}

    def to(self, device: torch.device) -> "Rollout":
        """The same on another device; nothing is copied if it is there already."""
        tensors: dict[str, Any] = {name: tensor.to(device) for name, tensor in self.tensors().items()}
        return Rollout(**tensors, played=self.played, episodes=self.episodes)

    def parts(self, count: int) -> Iterator["Rollout"]:
        """The environments in their order, in equal parts; nothing is copied."""
        every = self.tensors().items()
        for chosen in equal_parts(self.rewards.shape[1], count):
            tensors: dict[str, Any] = {k: v[chosen] if k == "state" else v[:, chosen] for k, v in every}
            yield Rollout(**tensors, played=self.played)


def equal_parts(size: int, count: int) -> Iterator[slice]:
    """Slices that cut `size` things into parts as equal as can be, of which none is empty.

    >>> list(equal_parts(5, 2))
    [slice(0, 2, None), slice(2, 5, None)]
    """
    count = min(count, size)
    return (slice(part * size // count, (part + 1) * size // count) for part in range(count))


def join(rollouts: Sequence[Rollout]) -> Rollout:
    """Rollouts of the same length side by side, as one of all their environments."""
    if len(rollouts) == 1:
        return rollouts[0]
    tensors: dict[str, Any] = {
        name: torch.cat([rollout.tensors()[name] for rollout in rollouts], dim=0 if name == "state" else 1)
        for name in rollouts[0].tensors()
    }
    return Rollout(**tensors, played=tuple(played for rollout in rollouts for played in rollout.played))
