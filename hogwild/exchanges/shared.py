"""All numbers that workers share: the weights, the optimizer's statistics, and exact counts."""

from typing import Protocol

import torch
from torch import Tensor

from hogwild.config.settings import Settings
from hogwild.optimizers import initial_statistics
from hogwild.policies.flat import FlatLayout
from hogwild.policies.policy import Policy
from hogwild.shareable import Shareable

VERSION, STEPS, STOP, READY, DROPPED, DISCARDED, EVENTS, SKIPPED, SKIPPED_IN_A_ROW = range(9)


class Mailbox(Protocol):
    """Where an exchange keeps what is on its way."""

    def tensors(self) -> dict[str, Tensor]:
        """Everything by name."""
        ...

    def share(self) -> None:
        """Move everything into shared memory."""
        ...

    def forget_taken(self) -> int:
        """Whoever was reading has died: what it had taken is thrown away. Answers how many there were."""
        ...


class SharedWeights(Shareable):
    """Ordinary tensors, which `share` moves into shared memory."""

    def __init__(self, policy: Policy, settings: Settings) -> None:
        self.spec = policy.spec
        self.layout = layout = FlatLayout(policy)
        sets = 1 if settings.optimizer.shared_statistics else settings.execution.workers
        statistics = initial_statistics(settings.optimizer.optimizer, layout.num_parameters)
        self.weights = layout.read(policy)
        self.mailbox: Mailbox | None = None
        self.statistics = statistics.repeat(sets, 1, 1)  # [sets, k, parameters]
        self.counts = torch.zeros(sets, dtype=torch.int64)  # updates that each set has seen
        self.counters = torch.zeros(16, dtype=torch.int64)
        self.normalised = policy.normalised()
        columns = self.normalised[-1].columns.stop if self.normalised else 0
        self.input_sums = torch.zeros(2, columns, dtype=torch.float64)
        self.input_count = torch.zeros(1, dtype=torch.float64)
        self.counters[READY] = not self.normalised
        self.gathers = False  # sums of inputs are only added up here: their mean is made elsewhere

    def move_to(self, device: str) -> None:
        """Keep the weights and the optimizer's statistics on a device; only within one process."""
        self.weights = self.weights.to(device)
        self.statistics = self.statistics.to(device)

    def share(self) -> None:
        """Move everything into shared memory."""
        super().share()
        if self.mailbox is not None:
            self.mailbox.share()

    def forget(self, is_server: bool) -> None:
        """One has died. What a worker had begun is in no slot and no count yet, and what it handed over is whole; but
        what a server had taken is lost."""
        if is_server and self.mailbox is not None:
            self.counters[DROPPED] += self.mailbox.forget_taken()

    def counter(self, which: int) -> int:
        """One of the counts that all workers share."""
        return int(self.counters[which])

    @property
    def parameters(self) -> Tensor:
        """The part of the weights that is learned; the rest are means and deviations."""
        return self.weights[: self.layout.num_parameters]
