"""The exchange that the settings name: what is shared, a worker's link, and those who serve all workers."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from hogwild.config.settings import Settings
from hogwild.exchanges.barrier import BarrierLink
from hogwild.exchanges.gradients import GradientsLink, Updater, gradient_slots
from hogwild.exchanges.meeting import Meeting
from hogwild.exchanges.shared import SharedWeights
from hogwild.exchanges.slots import Slots
from hogwild.exchanges.tape import Lock
from hogwild.exchanges.trajectories import TrajectoriesLink, TrajectoryLearner, rollout_slots
from hogwild.exchanges.weights import WeightsLink
from hogwild.link import Link
from hogwild.policies.policy import Policy
from hogwild.report import Report
from hogwild.turns import Turn

POOL = 4  # times as many slots as one worker has, for all machines together
MOST_ROLLOUTS = 1024  # whose gradients one machine adds up before it sends them
SERVERS = {"weights": "", "gradients": "updater", "trajectories": "learner", "barrier": ""}  # who serves all workers


def make_shared(settings: Settings, policy: Policy) -> SharedWeights:
    """Everything that the workers of a run share, for a policy whose weights are the first."""
    if settings.execution.engine == "ray":
        settings = pooled(settings)
    shared = SharedWeights(policy, settings)
    workers = settings.execution.workers
    if settings.execution.engine == "threads":
        shared.move_to(settings.execution.device[0])
    if settings.execution.exchange == "gradients":
        shared.mailbox = gradient_slots(settings, shared, workers)
    elif settings.execution.exchange == "trajectories":
        shared.mailbox = rollout_slots(settings, policy, workers)
    elif settings.execution.exchange == "barrier":
        shared.mailbox = Meeting(workers, shared.layout.num_parameters)
    return shared


def pooled(settings: Settings) -> Settings:
    """Settings for what serves workers on other machines: all that comes from there lies in one pool of slots.

    >>> pooled(Settings().update(slots=2, batch_rollouts=1)).execution.slots
    8
    """
    execution = settings.execution
    slots = POOL * max(execution.slots, execution.batch_rollouts)
    most = max(MOST_ROLLOUTS, execution.accumulate)
    # Taking turns: weights that are copied for others must be those of one version.
    return settings.update(workers=1, slots=slots, accumulate=most, lock="turns")


def make_link(settings: Settings, shared: SharedWeights, rank: int, lock: Lock) -> Link:
    """The link of one worker."""
    mailbox = shared.mailbox
    if isinstance(mailbox, Meeting):
        return BarrierLink(shared, mailbox, settings, rank, lock)
    if isinstance(mailbox, Slots):
        kind = GradientsLink if settings.execution.exchange == "gradients" else TrajectoriesLink
        return kind(shared, mailbox, settings, rank, lock)
    return WeightsLink(shared, settings, rank, lock)


class Server(Protocol):
    """Somebody who serves all workers."""

    rank: int

    def run(self, report: Callable[[Report], None], stopped: Callable[[], bool]) -> Iterator[Turn]:
        """Serve until stopped."""
        ...

    def save(self) -> dict[str, Any]:
        """What has to be remembered while nothing is under way."""
        ...

    def load(self, saved: dict[str, Any]) -> None:
        """Go on from what was saved."""
        ...


def make_servers(settings: Settings, shared: SharedWeights, lock: Callable[[int], Lock]) -> list[Server]:
    """Those who serve all workers, if the exchange has any; `lock` gives each its own handle."""
    slots, first = shared.mailbox, settings.execution.workers
    if not isinstance(slots, Slots):
        return []
    if settings.execution.exchange == "trajectories":
        return [TrajectoryLearner(settings, shared, slots, lock(first))]
    ranks = range(first, first + settings.execution.updaters)
    return [Updater(settings, shared, slots, rank, lock(rank)) for rank in ranks]
