"""The exchange `trajectories`: workers send what they played, and a learner does all the learning.

Workers never wait for a gradient, only for a free slot: the number of slots bounds how far they can run ahead.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import Any

import torch
from torch import Tensor

from hogwild.config.settings import Settings, of_worker
from hogwild.exchanges.gradients import give_up, release, take
from hogwild.exchanges.shared import DISCARDED, STEPS, VERSION, SharedWeights
from hogwild.exchanges.slots import LENGTH, WIDTH, Slots
from hogwild.exchanges.tape import Lock
from hogwild.exchanges.weights import WeightsLink
from hogwild.learning import GradientComputer
from hogwild.lesson import learn
from hogwild.link import Contribution, InputSums, Link, Pulled
from hogwild.objectives import VTrace, make_objective
from hogwild.policies.flat import FlatLayout
from hogwild.policies.make import make_policy
from hogwild.policies.policy import Policy
from hogwild.report import Receipt, Report
from hogwild.rollout import Rollout, join
from hogwild.turns import Door, Stopped, Turn


def rollout_slots(settings: Settings, policy: Policy, workers: int) -> Slots:
    """Slots for rollouts, as large as the largest of any worker."""
    t, n = max(settings.objective.rollout_steps), max(settings.environment.envs)
    spec, state = policy.spec, policy.initial_state(n)
    dtype = getattr(torch, spec.observation_dtype)
    like = {
        "observations": torch.empty(t + 1, n, *spec.observation_shape, dtype=dtype),
        "actions": torch.empty(t, n, *spec.action_shape, dtype=getattr(torch, spec.action_dtype)),
        "log_probs": torch.empty(t, n),
        "values": torch.empty(t + 1, n),
        "rewards": torch.empty(t, n),
        "terminated": torch.empty(t, n, dtype=torch.bool),
        "truncated": torch.empty(t, n, dtype=torch.bool),
        "final_value": torch.empty(t, n),
        "first": torch.empty(t + 1, n, dtype=torch.bool),
        "state": state,
    }
    return Slots(workers, settings.execution.slots, like)


class TrajectoriesLink(Link):
    """A worker's link to the learner."""

    takes_rollouts = True

    def __init__(self, shared: SharedWeights, slots: Slots, settings: Settings, rank: int, lock: Lock) -> None:
        self.rank = rank
        self.shared = shared
        self.slots = slots
        self.lock = lock
        self.weights = WeightsLink(shared, settings, rank, lock)

    def pull(self, into: Tensor) -> Pulled:
        """Copy the newest weights."""
        return self.weights.pull(into)

    def push(self, contribution: Contribution) -> Receipt | None:
        """Copy a rollout into a free slot."""
        if isinstance(contribution, InputSums):
            return self.weights.push(contribution)
        assert isinstance(contribution, Rollout)
        slot = self.slots.free_slot(self.rank)
        if slot is None:
            return None
        steps, envs = contribution.rewards.shape
        for name, tensor in contribution.tensors().items():
            part = tuple(slice(size) for size in tensor.shape)
            self.slots.content(name, slot)[part].copy_(tensor)
        self.slots.seal(slot)
        with self.lock:
            self.slots.hand_over(slot, contribution.played, (steps, envs))
            self.shared.counters[STEPS] += contribution.steps
        return Receipt({"async/queue": self.slots.waiting()})


def read_slot(slots: Slots, slot: int) -> Rollout:
    """The rollout in a slot; nothing is copied."""
    steps, envs = int(slots.headers[slot, LENGTH]), int(slots.headers[slot, WIDTH])
    tensors: dict[str, Any] = {}
    for name in slots.blocks:
        content = slots.content(name, slot)
        if name == "state":
            tensors[name] = content[:envs]
        else:
            longer = name in ("observations", "values", "first")
            tensors[name] = content[: steps + longer, :envs]
    return Rollout(**tensors, played=slots.played(slot))


class TrajectoryLearner:
    """What learns from the rollouts of all workers."""

    def __init__(self, settings: Settings, shared: SharedWeights, slots: Slots, lock: Lock) -> None:
        self.rank = settings.execution.workers
        self.settings = settings
        self.shared = shared
        self.slots = slots
        self.lock = lock
        self.link = WeightsLink(shared, settings.update(max_lag=0), 0, lock)
        self.policy = make_policy(shared.spec, settings.policy).to(of_worker(settings.execution.device, 0))
        layout = FlatLayout(self.policy)
        self.flat = layout.bind(self.policy)
        seed = settings.execution.seed

        norm = of_worker(settings.objective.max_grad_norm, 0)
        self.usual = GradientComputer(self.policy, layout, make_objective(settings, 0), norm, seed)
        self.corrected = self.usual  # what is too old is discarded, unless it is to be corrected
        if settings.execution.when_stale == "vtrace":
            self.corrected = GradientComputer(self.policy, layout, VTrace.of_worker(settings, 0), norm, seed)

    def save(self) -> dict[str, Any]:
        """What is random in it."""
        return {"shuffling": self.usual.generator.get_state().numpy()}

    def load(self, saved: dict[str, Any]) -> None:
        """Go on from a saved moment."""
        self.usual.generator.set_state(torch.from_numpy(saved["shuffling"]))

    def is_stale(self, slot: int) -> bool:
        """Whether what is in a slot is older than allowed."""
        limit = self.settings.execution.max_lag
        return bool(limit) and self.shared.counter(VERSION) - self.slots.played(slot)[0].version > limit

    def groups(self, taken: list[int]) -> Iterator[tuple[GradientComputer, Rollout]]:
        """The rollouts in slots, those that can be learned from together as one, and how to learn from each."""
        stale = {slot for slot in taken if self.is_stale(slot)}
        if self.settings.execution.when_stale == "discard":
            self.shared.counters[DISCARDED] += len(stale)
            taken = [slot for slot in taken if slot not in stale]

        def kind(slot: int) -> tuple[bool, int]:
            return slot in stale, int(self.slots.headers[slot, LENGTH])

        for (old, _), slots in groupby(sorted(taken, key=kind), key=kind):
            rollout = join([read_slot(self.slots, slot) for slot in slots]).to(self.policy.device)
            yield (self.corrected if old else self.usual), rollout

    def run(self, report: Callable[[Report], None], stopped: Callable[[], bool]) -> Iterator[Turn]:
        """Learn from rollouts in the order in which they came, until stopped and too few are left."""
        door, slots, batch = Door(self.link, stopped), self.slots, self.settings.execution.batch_rollouts
        with suppress(Stopped):
            while True:
                taken = yield from door.through(lambda: take(slots, batch, self.lock))
                news = Report(self.rank)
                broken = [slot for slot in taken if not slots.is_whole(slot)]
                if broken:
                    yield from door.through(partial(give_up, slots, broken, self.shared, self.lock))
                    taken = [slot for slot in taken if slot not in broken]
                for computer, rollout in self.groups(taken):
                    pulled = yield from door.pull(self.flat)
                    yield from learn(computer, self.flat, door, rollout, pulled.step, 0, news)
                yield from door.through(partial(release, slots, taken, self.lock))
                news.take(door.clock.metrics())
                report(news)
