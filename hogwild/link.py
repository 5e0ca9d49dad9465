"""The seam between a worker and everything else."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from torch import Tensor

from hogwild.learning import Gradients
from hogwild.report import Receipt
from hogwild.rollout import Rollout


@dataclass(frozen=True)
class InputSums:
    """Sums over what is normalised in a rollout: observations, discounted returns, or both, in this order."""

    count: int
    sum: np.ndarray  # [columns]
    sum_of_squares: np.ndarray  # [columns]
    steps: int


class Pulled(NamedTuple):
    """What comes with the weights."""

    version: int  # how many updates they have had
    step: int  # steps of all environments so far
    ready: bool  # False: means and deviations are not known yet, so play but send `InputSums`


Contribution = Gradients | Rollout | InputSums


class Link(Protocol):
    """How weights reach a worker, and how what it learned leaves it. No method ever waits: None means "not yet"."""

    takes_rollouts: bool = False  # whether to push rollouts as they are, or gradients

    def pull(self, into: Tensor) -> Pulled | None:
        """Copy the newest weights into a vector."""
        ...

    def push(self, contribution: Contribution) -> Receipt | None:
        """Hand over a contribution; answers what there is to report of it, such as its lag."""
        ...

    def finish(self) -> bool:
        """The rollout has given all that it had; False while others have to be waited for."""
        return True

    def save(self) -> dict[str, Any]:
        """What has to be remembered between two rollouts."""
        return {}

    def load(self, saved: dict[str, Any]) -> None:  # noqa: ARG002
        """Go on from what was saved."""
        return


@dataclass
class RecordingLink(Link):
    """A link to nowhere, for tests: gives scripted weights and remembers what was pushed.

    >>> link = RecordingLink(weights=Tensor([1.0]))
    >>> link.pull(Tensor([0.0])).version
    0
    """

    weights: Tensor
    version: int = 0
    step: int = 0
    ready: bool = True
    takes_rollouts: bool = False
    pushed: list[Contribution] = field(default_factory=list)

    def pull(self, into: Tensor) -> Pulled:
        """Give the scripted weights."""
        into.copy_(self.weights)
        return Pulled(self.version, self.step, self.ready)

    def push(self, contribution: Contribution) -> Receipt:
        """Remember the contribution."""
        self.pushed.append(contribution)
        return Receipt()
