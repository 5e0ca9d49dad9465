"""Looks whether what is learned stays finite: if it does not, goes back to the last good weights, or ends the run."""

import torch

from hogwild.config.settings import Settings
from hogwild.errors import NotFinite
from hogwild.exchanges.shared import SKIPPED, SKIPPED_IN_A_ROW, VERSION, SharedWeights
from hogwild.faults.events import Event

MOST_ROLLBACKS = 3  # in a row, none of which helped
BROKEN = {"weights": "weights", "statistics": "optimizer's statistics"}


class Guard:
    """Keeps a copy of the last good weights and optimizer statistics."""

    def __init__(self, settings: Settings, shared: SharedWeights) -> None:
        self.execution = settings.execution
        self.shared = shared
        self.skipped = 0
        self.rollbacks = 0
        self.keep()

    def keep(self) -> None:
        """Keep these weights, if they are good: workers go on changing them while a checkpoint is written."""
        found = {name: tensor.clone() for name, tensor in self._guarded().items()}
        if all(map(_is_finite, found.values())):
            self.good = found

    def _guarded(self) -> dict[str, torch.Tensor]:
        return {"weights": self.shared.weights, "statistics": self.shared.statistics}

    def look(self) -> list[Event]:
        """What is to be said; raises if training cannot go on."""
        found: list[Event] = []
        skipped, in_a_row = self.shared.counter(SKIPPED), self.shared.counter(SKIPPED_IN_A_ROW)
        if skipped > self.skipped:
            words = f"{skipped - self.skipped} updates were left out: their gradients were infinite or not a number."
            found.append(Event("not-finite", "learning", f"{words} What led to it: hogwild inspect"))
            self.skipped = skipped
        elif not in_a_row:
            self.rollbacks = 0
        broken = [name for name, tensor in self._guarded().items() if not _is_finite(tensor.to("cpu", copy=True))]
        if not broken and in_a_row < self.execution.max_skipped:
            return found
        why = f"{in_a_row} updates in a row were not finite"
        if broken:
            why = f"the {BROKEN[broken[0]]} are not finite any more"
        if self.execution.when_not_finite == "stop" or self.rollbacks >= MOST_ROLLBACKS:
            raise NotFinite(f"Training cannot go on: {why}. Try a smaller --learning-rate; hogwild inspect shows more.")
        self.rollbacks += 1
        for name, tensor in self._guarded().items():
            tensor.copy_(self.good[name])
        self.shared.counters[SKIPPED_IN_A_ROW] = 0
        self.shared.counters[VERSION] += 1  # they are others than before: whoever has those must fetch these
        advice = "back to the weights of the last checkpoint. A smaller --learning-rate may help."
        words = f"{why[0].upper()}{why[1:]}: {advice}"
        return [*found, Event("rolled-back", "learning", words)]


def _is_finite(tensor: torch.Tensor) -> bool:
    return bool(torch.isfinite(tensor).all())
