"""The distribution of an environment's actions, which may have several independent parts."""

from collections.abc import Sequence

import torch
from torch import Tensor

from hogwild.policies.distributions import Choice, ChoiceColumn, Distribution, Numbers, Switches
from hogwild.policies.spec import ActionPart, PolicySpec


class Joint:
    """Independent parts, side by side.

    >>> both = Joint([ChoiceColumn(3), Numbers(2)], torch.float32)
    >>> both.size, both.draws, both.mode(torch.tensor([0.0, 5.0, 0.0, 0.5, -0.5, 0.0, 0.0])).tolist()
    (7, 3, [1.0, 0.5, -0.5])
    """

    def __init__(self, parts: Sequence[Distribution], dtype: torch.dtype) -> None:
        self.parts, self.dtype = parts, dtype
        self.sizes = [part.size for part in parts]
        self.widths = [part.draws for part in parts]  # a part has as many random numbers as columns of its action
        self.mask_sizes = [part.mask_size for part in parts]
        self.size, self.draws, self.mask_size = sum(self.sizes), sum(self.widths), sum(self.mask_sizes)

    def parameters(self, raw: Tensor, mask: Tensor | None) -> Tensor:
        """Those of all parts."""
        masks = [None] * len(self.parts) if mask is None else mask.split(self.mask_sizes, dim=-1)
        split = zip(self.parts, raw.split(self.sizes, dim=-1), masks, strict=True)
        return torch.cat([part.parameters(values, forbidden) for part, values, forbidden in split], dim=-1)

    def sample(self, parameters: Tensor, uniform: Tensor) -> Tensor:
        """Actions of all parts."""
        drawn = zip(self._split(parameters), uniform.split(self.widths, dim=-1), strict=True)
        return self._join([part.sample(values, random) for (part, values), random in drawn])

    def mode(self, parameters: Tensor) -> Tensor:
        """Actions of all parts."""
        return self._join([part.mode(values) for part, values in self._split(parameters)])

    def log_probability(self, parameters: Tensor, actions: Tensor) -> Tensor:
        """Their sum, since they are independent."""
        taken = zip(self._split(parameters), actions.split(self.widths, dim=-1), strict=True)
        return torch.stack([part.log_probability(values, action) for (part, values), action in taken]).sum(0)

    def entropy(self, parameters: Tensor) -> Tensor:
        """Their sum, since they are independent."""
        return torch.stack([part.entropy(values) for part, values in self._split(parameters)]).sum(0)

    def divergence(self, parameters: Tensor, others: Tensor) -> Tensor:
        """Their sum, since they are independent."""
        pairs = zip(self._split(parameters), others.split(self.sizes, dim=-1), strict=True)
        return torch.stack([part.divergence(values, other) for (part, values), other in pairs]).sum(0)

    def indifferent(self, parameters: Tensor) -> Tensor:
        """All parts indifferent."""
        return torch.cat([part.indifferent(values) for part, values in self._split(parameters)], dim=-1)

    def played(self, actions: Tensor) -> Tensor:
        """All parts as they leave the policy."""
        split = zip(self.parts, actions.split(self.widths, dim=-1), strict=True)
        return torch.cat([part.played(action) for part, action in split], dim=-1)

    def shown(self, parameters: Tensor) -> Tensor:
        """What is shown of all parts."""
        return torch.cat([part.shown(values) for part, values in self._split(parameters)], dim=-1)

    def _split(self, parameters: Tensor) -> list[tuple[Distribution, Tensor]]:
        return list(zip(self.parts, parameters.split(self.sizes, dim=-1), strict=True))

    def _join(self, actions: list[Tensor]) -> Tensor:
        return torch.cat([action.to(self.dtype) for action in actions], dim=-1)


def make_distribution(spec: PolicySpec, squash: bool = False) -> Distribution:
    """The distribution of an environment's actions.

    >>> from hogwild.policies.spec import choice
    >>> make_distribution(PolicySpec((4,), "float32", choice(3))).size
    3
    """
    if spec.is_choice:
        return Choice(spec.num_actions, spec.is_masked)
    parts = [_make_part(part, spec.is_masked, squash) for part in spec.actions]
    return parts[0] if len(parts) == 1 else Joint(parts, getattr(torch, spec.action_dtype))


def _make_part(part: ActionPart, is_masked: bool, squash: bool) -> Distribution:
    if part.kind == "choice":
        return ChoiceColumn(part.size, is_masked)
    return Switches(part.size) if part.kind == "switches" else Numbers(part.size, squash)
