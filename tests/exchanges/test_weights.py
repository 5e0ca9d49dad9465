"""Shared weights: what is pulled and pushed, exact counts, lag, turns, and the estimate of the mean picture."""

import multiprocessing
from dataclasses import replace

import numpy as np
import pytest
import torch

from hogwild.config.settings import Settings
from hogwild.exchanges.file_lock import FileLock
from hogwild.exchanges.shared import DISCARDED, STEPS, VERSION, SharedWeights
from hogwild.exchanges.tape import Lock
from hogwild.exchanges.weights import WeightsLink
from hogwild.learning import Gradients
from hogwild.link import InputSums
from hogwild.policies.policy import Policy
from hogwild.policies.spec import PolicySpec, choice
from hogwild.rollout import Played

VECTOR, PICTURE = PolicySpec((4,), "float32", choice(2)), PolicySpec((1, 24, 24), "uint8", choice(2))
MEAN, DEVIATION = "encoder.convolutions.0.mean", "encoder.convolutions.0.deviation"
# Statistics frozen at one: an update then moves the weights by the learning rate times the gradient.
PLAIN = Settings().update(optimizer="rmsprop-tf", rms_decay=1.0, epsilon=1e-12, learning_rate=1.0)


def make_shared(settings: Settings = PLAIN, spec: PolicySpec = VECTOR, workers: int = 2) -> SharedWeights:
    torch.manual_seed(0)
    return SharedWeights(Policy(spec, settings.policy), settings.update(workers=workers))


def gradients(shared: SharedWeights, version: int = 0, steps: int = 10) -> Gradients:
    return Gradients(torch.ones(shared.layout.num_parameters), steps, (Played(version),))


def test_what_is_pushed_is_what_is_pulled() -> None:
    shared = make_shared()
    before = shared.weights.clone()
    links = [WeightsLink(shared, PLAIN, rank, Lock()) for rank in range(2)]
    links[0].push(gradients(shared))
    vector = torch.zeros_like(shared.weights)
    pulled = links[1].pull(vector)
    assert (pulled.version, pulled.step, pulled.ready) == (1, 10, True)
    torch.testing.assert_close(vector[: shared.layout.num_parameters], before[: shared.layout.num_parameters] - 1)


def test_a_pulled_vector_is_a_copy_that_later_updates_leave_alone() -> None:
    """Gradients are computed on it: an update in between forward and backward must not reach it."""
    shared = make_shared()
    link = WeightsLink(shared, PLAIN, 0, Lock())
    vector = torch.zeros_like(shared.weights)
    link.pull(vector)
    kept = vector.clone()
    link.push(gradients(shared))
    assert torch.equal(vector, kept)


def test_lag_counts_the_updates_of_others_since_the_pull() -> None:
    shared = make_shared()
    links = [WeightsLink(shared, PLAIN, rank, Lock()) for rank in range(2)]
    versions = [link.pull(torch.zeros_like(shared.weights)).version for link in links]
    assert links[0].push(gradients(shared, versions[0])).lags == (0,)
    assert links[0].push(gradients(shared, versions[0] + 1)).lags == (0,)
    assert links[1].push(gradients(shared, versions[1])).lags == (2,)


@pytest.mark.parametrize("shared_statistics", [True, False])
def test_optimizer_statistics_are_one_set_or_one_for_each_worker(shared_statistics: bool) -> None:
    settings = Settings().update(shared_statistics=shared_statistics)
    shared = make_shared(settings)
    WeightsLink(shared, settings, 0, Lock()).push(gradients(shared))
    WeightsLink(shared, settings, 1, Lock()).push(gradients(shared))
    assert shared.counts.tolist() == ([2] if shared_statistics else [1, 1])
    assert len(shared.statistics) == (1 if shared_statistics else 2)
    assert all((s != 0).any() for s in shared.statistics)


def push_many(shared: SharedWeights, settings: Settings, rank: int, lock: FileLock, times: int) -> None:
    torch.set_num_threads(1)
    link = WeightsLink(shared, settings, rank, Lock(lock))
    for _ in range(times):
        link.push(gradients(shared, steps=3))


@pytest.mark.parametrize("lock", ["free", "turns"])
def test_counts_are_exact_when_processes_push_at_the_same_time(lock: str) -> None:
    """`counter += 1` in shared memory loses increments unless it happens under a lock."""
    settings = PLAIN.update(lock=lock, learning_rate=1e-4)
    shared = make_shared(settings)
    before = shared.weights.clone()
    shared.share()
    context, file_lock, times = multiprocessing.get_context("spawn"), FileLock(), 2000
    processes = [
        context.Process(target=push_many, args=(shared, settings, rank, file_lock, times)) for rank in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=60)
        assert process.exitcode == 0
    assert shared.counter(VERSION) == 2 * times
    assert shared.counter(STEPS) == 2 * times * 3
    assert shared.counts.tolist() == [2 * times]
    if lock == "turns":  # and then no update is lost either
        moved = before - shared.weights
        torch.testing.assert_close(moved[:8], torch.full((8,), 2 * times * 1e-4), rtol=1e-3, atol=1e-4)


def sums_of(pictures: np.ndarray) -> InputSums:
    values = pictures.astype(np.float64).reshape(len(pictures), -1)
    return InputSums(len(pictures), values.sum(0), np.square(values).sum(0), steps=len(pictures))


def test_the_mean_picture_is_estimated_from_all_workers_and_then_frozen() -> None:
    settings = Settings().update(normalise="frozen", normalise_steps=50)
    shared = make_shared(settings, PICTURE)
    links = [WeightsLink(shared, settings, rank, Lock()) for rank in range(2)]
    random = np.random.default_rng(0)
    batches = [random.integers(256, size=(30, 1, 24, 24), dtype=np.uint8) for _ in range(3)]
    links[0].push(sums_of(batches[0]))
    assert not links[0].pull(torch.zeros_like(shared.weights)).ready
    links[1].push(sums_of(batches[1]))
    assert links[0].pull(torch.zeros_like(shared.weights)).ready
    seen = np.concatenate(batches[:2]).astype(np.float64)
    views = dict(shared.layout.views(shared.weights))
    np.testing.assert_allclose(views[MEAN][0].numpy(), seen.mean(0), rtol=1e-5)
    assert views[DEVIATION].item() == pytest.approx(np.sqrt(seen.var(0).mean()), rel=1e-5)
    links[0].push(sums_of(batches[2]))
    np.testing.assert_allclose(views[MEAN][0].numpy(), seen.mean(0), rtol=1e-5)
    assert shared.counter(STEPS) == 90
    assert shared.counter(VERSION) == 0


def test_a_running_normaliser_keeps_learning_slowly() -> None:
    settings = Settings().update(normalise="running", normalise_steps=10)
    shared = make_shared(settings, PICTURE)
    link = WeightsLink(shared, settings, 0, Lock())
    mean = dict(shared.layout.views(shared.weights))[MEAN]
    link.push(sums_of(np.full((10, 1, 24, 24), 100, dtype=np.uint8)))
    assert mean.unique().tolist() == [100.0]
    link.push(replace(sums_of(np.full((10, 1, 24, 24), 200, dtype=np.uint8)), steps=0))
    assert mean[0, 0, 0, 0].item() == pytest.approx(150.0, abs=0.1)
    assert shared.counter(STEPS) == 10


def test_a_blank_screen_has_no_variance_and_is_not_blown_up() -> None:
    settings = Settings().update(normalise="frozen", normalise_steps=5)
    shared = make_shared(settings, PICTURE)
    WeightsLink(shared, settings, 0, Lock()).push(sums_of(np.full((5, 1, 24, 24), 7, dtype=np.uint8)))
    assert dict(shared.layout.views(shared.weights))[DEVIATION].item() == 1.0


@pytest.mark.fault(42)
def test_a_rollout_is_too_old_or_not_as_a_whole() -> None:
    """The updates that a worker makes of its own rollout do not make that rollout older."""
    shared = make_shared()
    mine, other = (WeightsLink(shared, PLAIN.update(max_lag=1), rank, Lock()) for rank in range(2))
    for first in (True, False, False, False):
        mine.push(replace(gradients(shared), first=first))
    assert shared.counter(VERSION) == 4
    for first in (True, False):
        other.push(replace(gradients(shared), first=first))
    assert shared.counter(VERSION) == 4
    assert shared.counter(DISCARDED) == 1
