"""The seam between a worker and everything else."""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from torch import Tensor

from hogwild.learning import Gradients


@dataclass(frozen=True)
class PictureSums:
    """Sums over the pictures of a rollout, from which the mean picture is estimated before learning begins."""

    count: int
    sum: np.ndarray  # [C, H, W]
    sum_of_squares: np.ndarray  # [C, H, W]
    steps: int


class Pulled(NamedTuple):
    """What comes with the weights."""

    version: int  # how many updates they have had
    step: int  # steps of all environments so far
    ready: bool  # False: the mean picture is not known yet, so play but send `PictureSums`


Contribution = Gradients | PictureSums


class Link(Protocol):
    """How weights reach a worker, and how what it learned leaves it."""

    def pull(self, into: Tensor) -> Pulled:
        """Copy the newest weights into a vector."""
        ...

    def push(self, contribution: Contribution) -> dict[str, float]:
        """Hand over a contribution; answers what there is to report of it, such as its lag."""
        ...

    def close(self) -> None:
        """Let go of everything shared."""
        ...


@dataclass
class RecordingLink:
    """A link to nowhere, for tests: gives scripted weights and remembers what was pushed.

    >>> link = RecordingLink(weights=Tensor([1.0]))
    >>> link.pull(Tensor([0.0])).version
    0
    """

    weights: Tensor
    version: int = 0
    step: int = 0
    ready: bool = True
    pushed: list[Contribution] = field(default_factory=list)

    def pull(self, into: Tensor) -> Pulled:
        """Give the scripted weights."""
        into.copy_(self.weights)
        return Pulled(self.version, self.step, self.ready)

    def push(self, contribution: Contribution) -> dict[str, float]:
        """Remember the contribution."""
        self.pushed.append(contribution)
        return {}

    def close(self) -> None:
        """Nothing to let go of."""
