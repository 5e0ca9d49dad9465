"""The learner's side: nothing is counted or learned from twice, and weights are put out once for each version."""

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from hogwild.engines.ray.intake import Intake, Publisher
from hogwild.engines.ray.parcel import Counts, Goods, Parcel
from hogwild.exchanges.make import make_shared
from hogwild.exchanges.shared import DROPPED, READY, SKIPPED, SKIPPED_IN_A_ROW, STEPS, VERSION, SharedWeights
from hogwild.exchanges.slots import Slots
from hogwild.link import InputSums
from hogwild.policies.make import make_policy
from hogwild.resolve import layer, resolve


def shared_of(**changes: Any) -> SharedWeights:
    resolved = resolve(layer("CartPole-v1", engine="ray", exchange="gradients", **changes))
    return make_shared(resolved.settings, make_policy(resolved.spec, resolved.settings.policy))


def goods_of(shared: SharedWeights, value: float) -> Goods:
    return Goods({"flat": np.full(shared.layout.num_parameters, value, np.float32)}, (0, 0), (0.5, 0.25))


def box_of(shared: SharedWeights) -> Slots:
    assert isinstance(shared.mailbox, Slots)
    return shared.mailbox


def test_a_parcel_is_counted_and_handed_over() -> None:
    shared = shared_of()
    Intake(shared, threading.Lock(), 10).take(
        Parcel([goods_of(shared, 1.0), goods_of(shared, 2.0)]), Counts(640, 2, 1), lambda: False
    )
    assert [shared.counter(c) for c in (STEPS, SKIPPED, SKIPPED_IN_A_ROW, DROPPED)] == [640, 2, 2, 1]
    slots = box_of(shared)
    taken = slots.take(2)
    assert taken is not None
    assert [float(slots.content("flat", slot)[0]) for slot in taken] == [1.0, 2.0]
    assert [played.version for played in slots.played(taken[0])] == [0, 0]


def test_what_comes_too_late_is_counted_and_thrown_away() -> None:
    shared = shared_of()
    old, new = goods_of(shared, 1.0), replace(goods_of(shared, 2.0), versions=(3, 4))
    Intake(shared, threading.Lock(), 10).take(Parcel([old, new]), Counts(64), lambda: False, oldest=3)
    assert (shared.counter(STEPS), shared.counter(DROPPED), box_of(shared).waiting()) == (64, 1, 1)


def test_who_waits_for_a_slot_is_let_go_when_the_run_ends() -> None:
    shared = shared_of(slots=1)
    pool = len(box_of(shared).headers)
    intake, stopped = Intake(shared, threading.Lock(), 10), threading.Event()
    parcel = Parcel([goods_of(shared, 1.0)] * (pool + 1))
    waiting = threading.Thread(target=lambda: intake.take(parcel, Counts(), stopped.is_set))
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    assert box_of(shared).waiting() == pool
    stopped.set()
    waiting.join(5.0)
    assert not waiting.is_alive()
    assert shared.counter(DROPPED) == 1


def test_sums_of_inputs_from_elsewhere_become_means() -> None:
    shared = shared_of(normalise="frozen")
    assert not shared.counter(READY)
    intake = Intake(shared, threading.Lock(), normalise_steps=4)
    for _ in range(2):
        sums = InputSums(2, np.full(4, 6.0), np.full(4, 20.0), steps=0)  # of 2 and 4
        intake.take(Parcel(inputs=sums), Counts(2), lambda: False)
    assert shared.counter(READY)
    views = dict(shared.layout.views(shared.weights))
    mean = next(view for name, view in views.items() if name.endswith(".mean"))
    assert torch.allclose(mean, torch.full_like(mean, 3.0))
    assert shared.counter(STEPS) == 4


def test_weights_are_copied_once_for_each_version_and_told_only_to_whom_they_are_new() -> None:
    shared = shared_of()
    publisher = Publisher(shared, threading.Lock())
    first = publisher.offer(None)
    assert first.weights is not None
    assert publisher.offer(None).weights is first.weights  # to another machine
    assert publisher.offer(first).weights is None
    shared.counters[STEPS] = 77
    assert publisher.offer(first).step == 77
    shared.weights += 1.0
    assert float(first.weights[0]) != float(shared.weights[0])  # a copy: what was told does not change any more
    shared.counters[VERSION] += 1
    second = publisher.offer(first)
    assert second.weights is not None
    np.testing.assert_array_equal(second.weights, shared.weights.numpy())
