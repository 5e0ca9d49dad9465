"""The head that says what to do: it answers the parameters of the distribution of actions."""

import math

import torch
from torch import Tensor, nn

from hogwild.config.settings import PolicySettings
from hogwild.maths.gaussian import with_floor
from hogwild.policies.spec import PolicySpec


class ActorHead(nn.Linear):
    """A linear layer that gives logits of choices and switches, and means of numbers.

    The deviations of numbers are weights of their own, the same in every state, or more outputs of the layer.
    """

    def __init__(self, features: int, spec: PolicySpec, settings: PolicySettings) -> None:
        by_state = settings.deviation_by_state
        self.sizes = [part.size * (1 + (by_state and part.kind == "numbers")) for part in spec.actions]
        super().__init__(features, sum(self.sizes))
        self.are_numbers = [part.kind == "numbers" for part in spec.actions]
        self.numbers = [part.size for part in spec.actions if part.kind == "numbers"]
        self.start, self.floor = math.log(settings.deviation), settings.deviation_floor
        free = bool(self.numbers) and not by_state
        self.log_deviation = nn.Parameter(torch.zeros(sum(self.numbers))) if free else None

    def forward(self, features: Tensor) -> Tensor:
        """Parameters [..., P] from features [..., F]; those of choices are not normalised yet."""
        out = super().forward(features)
        if not self.numbers:
            return out
        free = iter(() if self.log_deviation is None else self.log_deviation.split(self.numbers))
        parts = []
        for is_number, values in zip(self.are_numbers, out.split(self.sizes, dim=-1), strict=True):
            parts.append(self._with_deviations(values, next(free, None)) if is_number else values)
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)

    def _with_deviations(self, values: Tensor, free: Tensor | None) -> Tensor:
        mean, log_deviation = values.chunk(2, dim=-1) if free is None else (values, free)
        log_deviation = with_floor(log_deviation + self.start, self.floor).expand_as(mean)
        return torch.cat([mean, log_deviation], dim=-1)
