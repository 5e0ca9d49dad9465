"""The record that passes from acting to learning."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Rollout:
    """T steps of N environments by one worker. All tensors are time-major."""

    observations: Tensor  # [T+1, N, …]; the last one is only bootstrapped from
    actions: Tensor  # [T, N]
    log_probs: Tensor  # [T, N] of those actions, by the policy that took them
    rewards: Tensor  # [T, N] as learned from: scaled and clipped
    terminated: Tensor  # [T, N] the episode ended here: nothing follows
    truncated: Tensor  # [T, N] the episode was cut off here: bootstrap from `final_value`
    final_value: Tensor  # [T, N] value of the real last observation where truncated, else 0
    first: Tensor  # [T+1, N] an episode begins with this observation: the memory starts empty
    state: Tensor  # [N, S] the memory before the first step
    version: int  # of the weights that acted
    episodes: tuple[tuple[float, int], ...]  # raw return and length of the games that ended

    @property
    def steps(self) -> int:
        """Decisions in this rollout, over all its environments."""
        return self.actions.numel()
