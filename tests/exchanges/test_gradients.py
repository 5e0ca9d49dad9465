"""Gradients on their way: added up, sent, applied in order, dropped and counted."""

from typing import Any

import pytest
import torch

from hogwild.exchanges.gradients import GradientsLink, Updater
from hogwild.exchanges.shared import DISCARDED, DROPPED, STEPS, VERSION, SharedWeights
from hogwild.exchanges.slots import Slots
from hogwild.exchanges.tape import Lock
from hogwild.report import Report
from hogwild.turns import Turn
from tests.exchanges.scripted import gradients, make, moved


class Setup:
    def __init__(self, **changes: Any) -> None:
        self.settings, self.shared = make(exchange="gradients", **changes)
        assert isinstance(self.shared.mailbox, Slots)
        self.slots = self.shared.mailbox
        self.links = [GradientsLink(self.shared, self.slots, self.settings, rank, Lock()) for rank in range(2)]
        self.reports: list[Report] = []
        self.loop = Updater(self.settings, self.shared, self.slots, 2, Lock()).run(self.reports.append, lambda: False)

    def update_all(self) -> SharedWeights:
        while next(self.loop) is not Turn.WAITING:
            pass
        return self.shared


def test_what_is_sent_is_applied_as_it_is_and_only_by_the_updater() -> None:
    setup = Setup()
    before = setup.shared.weights.clone()
    receipt = setup.links[0].push(gradients(setup.shared, 3.0))
    assert receipt is not None
    assert receipt.metrics["async/queue"] == 1
    assert torch.equal(setup.shared.weights, before)
    assert setup.shared.counter(STEPS) == 10
    assert moved(setup.update_all(), before) == 3.0
    assert (setup.shared.counter(VERSION), setup.shared.counter(STEPS)) == (1, 10)


def test_gradients_are_applied_in_the_order_in_which_they_came() -> None:
    setup = Setup()
    for link, value in ((0, 1.0), (1, 2.0), (0, 4.0)):
        setup.links[link].push(gradients(setup.shared, value))
    order = [setup.slots.take(1) for _ in range(3)]
    values = [setup.slots.content("flat", slot[0])[0].item() for slot in order if slot]
    assert values == [1.0, 2.0, 4.0]


def test_lag_is_counted_when_a_gradient_is_applied() -> None:
    setup = Setup()
    for link in (0, 1, 0, 1):
        setup.links[link].push(gradients(setup.shared, version=0))
    setup.update_all()
    assert [report.sums["async/lag"] for report in setup.reports] == [0, 1, 2, 3]
    assert [report.counts["async/lag"] for report in setup.reports] == [1, 1, 1, 1]


@pytest.mark.parametrize(("reduction", "distance"), [("mean", 2.0), ("sum", 4.0)])
def test_gradients_are_added_up_before_they_are_sent(reduction: str, distance: float) -> None:
    setup = Setup(accumulate=2, reduction=reduction)
    before = setup.shared.weights.clone()
    setup.links[0].push(gradients(setup.shared, 1.0, version=0))
    assert moved(setup.update_all(), before) == 0.0
    setup.links[0].push(gradients(setup.shared, 3.0, version=0))
    assert moved(setup.update_all(), before) == distance
    assert setup.shared.counter(STEPS) == 20
    assert setup.reports[0].counts["async/lag"] == 2  # two rollouts in one update


def test_a_full_queue_makes_the_worker_wait() -> None:
    setup = Setup(slots=2)
    assert setup.links[0].push(gradients(setup.shared)) is not None
    assert setup.links[0].push(gradients(setup.shared)) is not None
    assert setup.links[0].push(gradients(setup.shared)) is None
    assert setup.links[1].push(gradients(setup.shared)) is not None  # another has slots of its own
    setup.update_all()
    assert setup.links[0].push(gradients(setup.shared)) is not None
    assert setup.shared.counter(DROPPED) == 0
    assert setup.shared.counter(STEPS) == 40


def test_a_full_queue_drops_its_oldest_if_so_asked() -> None:
    setup = Setup(slots=2, when_full="drop-oldest")
    before = setup.shared.weights.clone()
    for value in (1.0, 2.0, 4.0, 8.0):
        assert setup.links[0].push(gradients(setup.shared, value)) is not None
    assert setup.shared.counter(DROPPED) == 2
    assert moved(setup.update_all(), before) == 12.0
    assert setup.shared.counter(STEPS) == 40  # they were played


def test_weights_are_pulled_only_every_so_many_rollouts() -> None:
    setup = Setup(pull_every=3)
    vector = torch.zeros_like(setup.shared.weights)
    versions = []
    for _ in range(7):
        pulled = setup.links[0].pull(vector)
        versions.append(pulled.version)
        assert setup.links[0].pull(vector).version == pulled.version  # the same for the whole rollout
        assert setup.links[0].finish()
        setup.links[1].push(gradients(setup.shared))
        setup.update_all()
    assert versions == [0, 0, 0, 3, 3, 3, 6]


def test_what_is_older_than_allowed_is_discarded_and_counted() -> None:
    setup = Setup(max_lag=1)
    before = setup.shared.weights.clone()
    for _ in range(2):
        setup.links[0].push(gradients(setup.shared, version=0))
        setup.links[1].push(gradients(setup.shared, version=0))
    assert moved(setup.update_all(), before) == 2.0  # lags 0 and 1; 2 and 2 are too old
    assert setup.shared.counter(DISCARDED) == 2
    assert setup.shared.counter(VERSION) == 2
