"""Rollouts on their way: what the learner reads is what was played, in order, and no more than fits."""

from typing import Any

import pytest
import torch

from hogwild.exchanges.shared import DISCARDED, STEPS, VERSION
from hogwild.exchanges.slots import Slots
from hogwild.exchanges.tape import Lock
from hogwild.exchanges.trajectories import TrajectoriesLink, TrajectoryLearner, read_slot
from hogwild.report import Report
from hogwild.rollout import Rollout, join
from hogwild.turns import Turn
from tests.exchanges.scripted import make, make_rollout


class Setup:
    def __init__(self, **changes: Any) -> None:
        self.settings, self.shared = make(exchange="trajectories", envs=[2, 3], rollout_steps=[4, 6], **changes)
        assert isinstance(self.shared.mailbox, Slots)
        self.slots = self.shared.mailbox
        self.links = [TrajectoriesLink(self.shared, self.slots, self.settings, rank, Lock()) for rank in range(2)]
        self.learner = TrajectoryLearner(self.settings, self.shared, self.slots, Lock())
        self.reports: list[Report] = []
        self.loop = self.learner.run(self.reports.append, lambda: False)

    def learn_all(self) -> None:
        while next(self.loop) is not Turn.WAITING:
            pass


def same(a: Rollout, b: Rollout) -> bool:
    return a.played == b.played and all(torch.equal(value, b.tensors()[name]) for name, value in a.tensors().items())


def test_what_is_read_is_what_was_played() -> None:
    setup = Setup()
    large, small = make_rollout(6, 3, version=5), make_rollout(4, 2, value=0.5)
    setup.links[1].push(large)
    setup.links[0].push(small)
    taken = setup.slots.take(2)
    assert taken is not None
    assert same(read_slot(setup.slots, taken[0]), large)
    assert same(read_slot(setup.slots, taken[1]), small)
    assert setup.shared.counter(STEPS) == 26


def test_a_slot_is_a_copy_that_the_workers_next_rollout_leaves_alone() -> None:
    setup = Setup()
    rollout = make_rollout(4, 2)
    setup.links[0].push(rollout)
    kept = rollout.observations.clone()
    rollout.observations.zero_()
    taken = setup.slots.take(1)
    assert taken is not None
    assert torch.equal(read_slot(setup.slots, taken[0]).observations, kept)


def test_joined_rollouts_stand_side_by_side() -> None:
    first, second = make_rollout(4, 2, version=1), make_rollout(4, 3, version=2, value=0.5)
    both = join([first, second])
    assert both.steps == 20
    assert [played.version for played in both.played] == [1, 2]
    for name, tensor in both.tensors().items():
        parts = tensor.split([2, 3], dim=0 if name == "state" else 1)
        assert torch.equal(parts[0], first.tensors()[name])
        assert torch.equal(parts[1], second.tensors()[name])


def test_parts_of_a_rollout_are_its_environments_in_order() -> None:
    rollout = make_rollout(4, 5)
    parts = list(rollout.parts(2))
    assert [part.actions.shape for part in parts] == [(4, 2), (4, 3)]
    assert torch.equal(torch.cat([part.observations for part in parts], dim=1), rollout.observations)


def test_workers_wait_for_a_free_slot_and_the_learner_for_enough_rollouts() -> None:
    setup = Setup(slots=2, batch_rollouts=3)
    assert setup.links[0].push(make_rollout(4, 2)) is not None
    assert setup.links[0].push(make_rollout(4, 2)) is not None
    assert setup.links[0].push(make_rollout(4, 2)) is None
    setup.learn_all()
    assert setup.shared.counter(VERSION) == 0
    setup.links[1].push(make_rollout(6, 3))
    setup.learn_all()
    # One update for the two of the same length together, one for the other.
    assert setup.shared.counter(VERSION) == 2
    assert setup.reports[0].counts["async/lag"] == 3
    assert setup.links[0].push(make_rollout(4, 2)) is not None
    assert setup.shared.counter(STEPS) == 8 * 3 + 18


@pytest.mark.fault(42)
def test_rollouts_older_than_allowed_are_discarded_or_corrected() -> None:
    for when_stale, discarded, updates in (("discard", 1, 5), ("vtrace", 0, 6)):
        setup = Setup(max_lag=3, when_stale=when_stale)
        setup.shared.counters[VERSION] = 5
        setup.links[0].push(make_rollout(4, 2, version=1))
        setup.learn_all()
        assert setup.shared.counter(DISCARDED) == discarded
        assert setup.shared.counter(VERSION) == updates
        assert ("vtrace/ratio" in setup.reports[0].sums) == (when_stale == "vtrace")


def test_a_batch_of_which_only_a_part_is_left_makes_fewer_minibatches() -> None:
    setup = Setup(batch_rollouts=2, minibatches=5, max_lag=3, when_stale="discard")
    setup.shared.counters[VERSION] = 10
    setup.links[0].push(make_rollout(4, 2, version=10))
    setup.links[1].push(make_rollout(4, 3, version=2))
    setup.learn_all()
    assert setup.shared.counter(VERSION) == 12  # one update for each environment that is left
    assert setup.shared.counter(DISCARDED) == 1
