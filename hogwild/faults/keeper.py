"""Keeps what led to faults of a run's environments: black boxes while it trains, capsules when something goes wrong."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hogwild.config.settings import EnvSettings, Settings
from hogwild.envs.batch import EnvBatch, Fault
from hogwild.envs.blackbox import BlackBox, Played
from hogwild.envs.recorded import RecordedBatch
from hogwild.errors import RunFolderError
from hogwild.faults.capsule import Capsule, write_capsule
from hogwild.machine import versions


@dataclass(frozen=True)
class Keeper:
    """The folders of one run in which they lie."""

    settings: Settings
    folder: Path  # of the run

    def recorded(self, rank: int, batch: EnvBatch) -> EnvBatch:
        """A worker's environments, beside which it is written down what they are told."""
        return RecordedBatch(batch, self._box(rank), partial(self.keep, rank))

    def _box(self, rank: int) -> Path:
        return self.folder / "blackbox" / f"{rank}.bin"

    def keep(self, rank: int, fault: Fault, played: list[Played]) -> str:
        """Write a capsule of what led to a fault; answers where it is."""
        plain, chosen = vars(EnvSettings()), vars(self.settings.environment)
        changed = {name: value for name, value in chosen.items() if value != plain[name]}
        capsule = Capsule(self.settings.env, changed, fault.what, fault.details, versions(), tuple(played))
        try:
            return str(write_capsule(self.folder / "capsules", f"worker{rank}", capsule))
        except (RunFolderError, OSError):  # a full disk is no reason to lose more than an episode
            return ""

    def keep_all(self, rank: int, what: str, details: str) -> str:
        """Write a capsule of all that a worker had its environments do before it died."""
        try:
            box = BlackBox.open(self._box(rank))
        except (OSError, ValueError):
            return ""
        return self.keep(rank, Fault(0, what, details), box.played())
