"""What a policy says about actions: the parameters of a distribution, and what follows from them.

Distributions hold no numbers themselves: their methods take parameters [..., P], as a policy puts them out.
"""

from typing import Protocol

import torch
from torch import Tensor

from hogwild.maths import categorical, gaussian, switches

NEVER = -1e9  # the logit of an action that is not allowed


class Distribution(Protocol):
    """A distribution of actions."""

    size: int  # numbers that a policy gives for it
    draws: int  # random numbers that decide one action
    mask_size: int  # choices that a mask can forbid

    def parameters(self, raw: Tensor, mask: Tensor | None) -> Tensor:
        """Parameters from what the network answered; choices whose `mask` is false get no probability."""
        ...

    def sample(self, parameters: Tensor, uniform: Tensor) -> Tensor:
        """Actions from random numbers [..., draws] in [0, 1)."""
        ...

    def mode(self, parameters: Tensor) -> Tensor:
        """The action that is likeliest."""
        ...

    def log_probability(self, parameters: Tensor, actions: Tensor) -> Tensor:
        """Log-probability, or log-density, of recorded actions, [...]."""
        ...

    def entropy(self, parameters: Tensor) -> Tensor:
        """Entropy in nats, of numbers the differential one, [...]."""
        ...

    def divergence(self, parameters: Tensor, others: Tensor) -> Tensor:
        """Kullback-Leibler divergence of the distribution with other parameters from this one, in nats, [...]."""
        ...

    def indifferent(self, parameters: Tensor) -> Tensor:
        """Parameters that favour nothing, but allow no more than the given ones."""
        ...

    def played(self, actions: Tensor) -> Tensor:
        """Recorded actions as they leave the policy."""
        ...

    def shown(self, parameters: Tensor) -> Tensor:
        """For people: probabilities of choices and switches, means of numbers, [..., num_actions]."""
        ...


class Choice:
    """One of several; the parameters are logarithms of probabilities, and an action is a plain whole number.

    >>> coin = Choice(2)
    >>> parameters = coin.parameters(torch.tensor([0.0, 9.0]), None)
    >>> coin.mode(parameters).item(), coin.sample(parameters, torch.tensor([0.5])).item()
    (1, 1)
    """

    draws = 1

    def __init__(self, size: int, is_masked: bool = False) -> None:
        self.size = self.mask_size = size
        self.choose = categorical.sample_allowed if is_masked else categorical.sample

    def parameters(self, raw: Tensor, mask: Tensor | None) -> Tensor:
        """Normalised logits."""
        return (raw if mask is None else raw.masked_fill(~mask, NEVER)).log_softmax(-1)

    def sample(self, parameters: Tensor, uniform: Tensor) -> Tensor:
        """Whole numbers [...]."""
        return self.choose(parameters, uniform.squeeze(-1))

    def mode(self, parameters: Tensor) -> Tensor:
        """Whole numbers [...]."""
        return parameters.argmax(-1)

    def log_probability(self, parameters: Tensor, actions: Tensor) -> Tensor:
        """Of actions [...]."""
        return categorical.log_probability(parameters, actions)

    def entropy(self, parameters: Tensor) -> Tensor:
        """Entropy in nats."""
        return categorical.entropy(parameters)

    def divergence(self, parameters: Tensor, others: Tensor) -> Tensor:
        """Divergence in nats."""
        return (parameters.exp() * (parameters - others)).sum(-1)

    def indifferent(self, parameters: Tensor) -> Tensor:
        """The same probability for everything that is allowed."""
        return self.parameters(torch.zeros_like(parameters), parameters > NEVER / 2)

    def played(self, actions: Tensor) -> Tensor:
        """As they are."""
        return actions

    def shown(self, parameters: Tensor) -> Tensor:
        """Probabilities."""
        return parameters.exp()


class ChoiceColumn(Choice):
    """A choice as one part of several: its action is a column [..., 1]."""

    def sample(self, parameters: Tensor, uniform: Tensor) -> Tensor:
        """A column of whole numbers."""
        return super().sample(parameters, uniform).unsqueeze(-1)

    def mode(self, parameters: Tensor) -> Tensor:
        """A column of whole numbers."""
        return super().mode(parameters).unsqueeze(-1)

    def log_probability(self, parameters: Tensor, actions: Tensor) -> Tensor:
        """Of a column of actions, which may be decimals if another part has some."""
        return super().log_probability(parameters, actions.squeeze(-1).long())


class Switches:
    """Independent switches; the parameters are logits, and an action is 0 or 1 for each.

    >>> Switches(2).mode(torch.tensor([3.0, -3.0])).tolist()
    [1, 0]
    """

    mask_size = 0

    def __init__(self, size: int) -> None:
        self.size = self.draws = size

    def parameters(self, raw: Tensor, mask: Tensor | None) -> Tensor:  # noqa: ARG002
        """Logits."""
        return raw

    def sample(self, parameters: Tensor, uniform: Tensor) -> Tensor:
        """0 or 1 for each."""
        return switches.sample(parameters, uniform)

    def mode(self, parameters: Tensor) -> Tensor:
        """0 or 1 for each."""
        return (parameters > 0).long()

    def log_probability(self, parameters: Tensor, actions: Tensor) -> Tensor:
        """Of all of them together."""
        return switches.log_probability(parameters, actions)

    def entropy(self, parameters: Tensor) -> Tensor:
        """Of all of them together."""
        return switches.entropy(parameters)

    def divergence(self, parameters: Tensor, others: Tensor) -> Tensor:
        """Of all of them together."""
        return switches.divergence(parameters, others)

    def indifferent(self, parameters: Tensor) -> Tensor:
        """As often on as off."""
        return torch.zeros_like(parameters)

    def played(self, actions: Tensor) -> Tensor:
        """As they are."""
        return actions

    def shown(self, parameters: Tensor) -> Tensor:
        """Probabilities that they are on."""
        return parameters.sigmoid()


class Numbers:
    """Normally distributed numbers; the parameters are their means, then the logarithms of their deviations.

    With `squash` the environment gets their tanh, and probabilities are of that; what is recorded is the number before.

    >>> Numbers(1).sample(torch.tensor([2.0, 0.0]), torch.tensor([0.5])).tolist()
    [2.0]
    """

    mask_size = 0

    def __init__(self, size: int, squash: bool = False) -> None:
        self.size, self.draws = 2 * size, size
        self.squash = squash

    def parameters(self, raw: Tensor, mask: Tensor | None) -> Tensor:  # noqa: ARG002
        """As they are."""
        return raw

    def sample(self, parameters: Tensor, uniform: Tensor) -> Tensor:
        """Numbers [..., size]."""
        mean, log_deviation = parameters.chunk(2, dim=-1)
        return gaussian.sample(mean, log_deviation, uniform)

    def mode(self, parameters: Tensor) -> Tensor:
        """The means."""
        return parameters.chunk(2, dim=-1)[0]

    def log_probability(self, parameters: Tensor, actions: Tensor) -> Tensor:
        """Log-density of all of them together."""
        density = gaussian.squashed_log_probability if self.squash else gaussian.log_probability
        mean, log_deviation = parameters.chunk(2, dim=-1)
        return density(mean, log_deviation, actions)

    def entropy(self, parameters: Tensor) -> Tensor:
        """Differential entropy of all of them together."""
        mean, log_deviation = parameters.chunk(2, dim=-1)
        return gaussian.squashed_entropy(mean, log_deviation) if self.squash else gaussian.entropy(log_deviation)

    def divergence(self, parameters: Tensor, others: Tensor) -> Tensor:
        """Of all of them together; squashing both alike does not change it."""
        mean, log_deviation = parameters.chunk(2, dim=-1)
        other_mean, other_log_deviation = others.chunk(2, dim=-1)
        return gaussian.divergence(mean, log_deviation, other_mean, other_log_deviation)

    def indifferent(self, parameters: Tensor) -> Tensor:
        """Around zero, with a deviation of 1."""
        return torch.zeros_like(parameters)

    def played(self, actions: Tensor) -> Tensor:
        """Squashed, if they are to be."""
        return actions.tanh() if self.squash else actions

    def shown(self, parameters: Tensor) -> Tensor:
        """Means, as played."""
        return self.played(self.mode(parameters))
