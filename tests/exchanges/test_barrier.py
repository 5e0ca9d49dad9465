"""The barrier: one update of all gradients, when all have come."""

import itertools
from typing import Any

import pytest
import torch

from hogwild.exchanges.barrier import BarrierLink
from hogwild.exchanges.meeting import Meeting
from hogwild.exchanges.shared import STEPS, VERSION
from hogwild.exchanges.tape import Lock
from tests.exchanges.scripted import gradients, make, moved


def make_links(workers: int = 2, **changes: Any) -> list[BarrierLink]:
    settings, shared = make(exchange="barrier", workers=workers, **changes)
    assert isinstance(shared.mailbox, Meeting)
    return [BarrierLink(shared, shared.mailbox, settings, rank, Lock()) for rank in range(workers)]


@pytest.mark.parametrize(("reduction", "distance"), [("mean", 2.0), ("sum", 4.0)])
def test_nothing_happens_before_all_have_come_and_then_one_update(reduction: str, distance: float) -> None:
    links = make_links(reduction=reduction)
    shared = links[0].shared
    before = shared.weights.clone()
    one, three = gradients(shared, 1.0), gradients(shared, 3.0)
    assert links[0].push(one) is None
    assert links[0].push(one) is None
    assert moved(shared, before) == 0.0
    assert links[1].push(three) is not None
    assert links[0].push(one) is not None
    assert moved(shared, before) == distance
    assert (shared.counter(VERSION), shared.counter(STEPS)) == (1, 20)


def test_the_mean_is_clipped_and_not_its_parts() -> None:
    links = make_links(max_grad_norm=1.0)
    shared = links[0].shared
    before = shared.weights.clone()
    for link, value in zip(links, (30.0, -10.0), strict=True):
        link.push(gradients(shared, value))
    distance = (before - shared.weights)[: shared.layout.num_parameters]
    assert distance.norm().item() == pytest.approx(1.0, rel=1e-4)
    assert (distance > 0).all()


def test_one_that_has_nothing_more_to_give_counts_as_present() -> None:
    links = make_links(workers=3)
    shared = links[0].shared
    before = shared.weights.clone()
    assert not links[2].finish()
    assert links[0].push(gradients(shared, 1.0)) is None
    assert links[1].push(gradients(shared, 3.0)) is not None
    assert links[0].push(gradients(shared, 1.0)) is not None
    assert moved(shared, before) == 2.0
    assert not links[0].finish()
    assert not links[2].finish()
    assert links[1].finish()  # the last one ends the rollout for all
    assert links[0].finish()
    assert links[2].finish()


def test_who_comes_last_makes_no_difference_to_the_bits() -> None:
    results = []
    for order in itertools.permutations(range(3)):
        links = make_links(workers=3)
        shared = links[0].shared
        values = torch.randn(3, shared.layout.num_parameters, generator=torch.Generator().manual_seed(1))
        for rank in order:
            contribution = gradients(shared)
            contribution.flat.copy_(values[rank])
            links[rank].push(contribution)
        results.append(shared.weights.clone())
    assert all(torch.equal(results[0], other) for other in results[1:])


def test_lags_count_the_updates_since_the_rollout_was_played() -> None:
    links = make_links()
    lags = []
    for _ in range(3):  # three passes over rollouts of version 0
        links[0].push(gradients(links[0].shared, version=0))
        receipt = links[1].push(gradients(links[0].shared, version=0))
        links[0].push(gradients(links[0].shared, version=0))
        assert receipt is not None
        lags.append(receipt.lags)
    assert lags == [(0,), (1,), (2,)]


@pytest.mark.parametrize(("limit", "clipped"), [(1e-3, 1.0), (1e3, 0.0)])
def test_clipping_is_reported_once_for_each_update(limit: float, clipped: float) -> None:
    links = make_links(max_grad_norm=limit)
    brought = gradients(links[0].shared)
    assert links[0].push(brought) is None
    receipts = [links[1].push(brought), links[0].push(brought)]
    assert [r.metrics["gradient/clipped"] for r in receipts if r and "gradient/clipped" in r.metrics] == [clipped]
