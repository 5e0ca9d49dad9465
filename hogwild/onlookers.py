"""Who looks on while a run trains: viewers of its games, and a recorder of what it learns from.

Learning knows nothing of them. They are given to workers and learners when these are made, in whatever process that is.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from hogwild.exchanges.make import Server
from hogwild.exchanges.trajectories import TrajectoryLearner
from hogwild.hooks import Caller
from hogwild.inputs import InputRecorder
from hogwild.live.mailbox import Outbox
from hogwild.worker import Worker


@dataclass(frozen=True)
class Onlookers:
    """The onlookers of one run."""

    folder: Path  # of the run
    record_inputs: int  # updates of each who learns
    hooks: str = ""  # code of the user's own

    def at(self, folder: Path) -> "Onlookers":
        """The same on a machine that cannot reach the run's folder, with another one, which does not last: so nothing
        is recorded there."""
        return replace(self, folder=folder, record_inputs=0)

    def join(self, participant: Worker | Server) -> None:
        """Look on at a worker, or at one who serves all workers."""
        if isinstance(participant, Worker):
            rank = participant.rank
            participant.actor.onlooker = Outbox(self.folder / "live", rank, participant.batch.spec)
            participant.gradients.recorder = self._recorder(rank)
            participant.gradients.hooks = self._hooks()
        elif isinstance(participant, TrajectoryLearner):
            participant.usual.recorder = participant.corrected.recorder = self._recorder(participant.rank)
            participant.usual.hooks = participant.corrected.hooks = self._hooks()

    def _hooks(self) -> Caller | None:
        return Caller(self.hooks) if self.hooks else None

    def _recorder(self, rank: int) -> InputRecorder:
        return InputRecorder(self.folder / "inputs", rank, self.record_inputs)
