"""Rewards as they are learned from; what is reported stays raw."""

import numpy as np

from hogwild.policies.normalisers import RewardNormaliser


class Rewards:
    """Scales the rewards of a batch of environments, then normalises, then clips them.

    >>> Rewards(2, scale=0.5, clip=1.0).take(np.array([1.0, 8.0]), np.array([False, False])).tolist()
    [0.5, 1.0]
    """

    def __init__(
        self,
        envs: int,
        *,
        scale: float = 1.0,
        clip: float = 0.0,
        floor: float | None = None,
        discount: float = 0.99,
        normaliser: RewardNormaliser | None = None,
    ) -> None:
        """With a `normaliser`, rewards are divided by the deviation of returns that it holds."""
        self.scale, self.discount, self.normaliser = scale, discount, normaliser
        self.high = clip or np.inf
        self.low = max(-self.high, -np.inf if floor is None else floor)
        self.is_bounded = self.high < np.inf or self.low > -np.inf
        self.so_far = np.zeros(envs)  # discounted sums of the rewards of the episodes under way
        self.sums: list[np.ndarray] = []  # these, after each step of a rollout
        self.deviation = 1.0

    def begin(self) -> None:
        """A rollout begins, with weights that may be new."""
        self.sums = []
        if self.normaliser is not None:
            self.deviation = float(self.normaliser.deviation)

    def take(self, raw: np.ndarray, ended: np.ndarray) -> np.ndarray:
        """What to learn from the rewards of one step; `ended` marks the last ones of their episodes."""
        learned = raw * self.scale
        if self.normaliser is not None:
            self.so_far = self.discount * self.so_far + learned
            self.sums.append(self.so_far)
            self.so_far = np.where(ended, 0.0, self.so_far)
            learned = learned / self.deviation
        return learned.clip(self.low, self.high) if self.is_bounded else learned
