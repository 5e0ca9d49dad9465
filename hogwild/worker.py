"""A worker, and the only loop there is: pull weights, play a rollout, compute gradients, push them."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from hogwild.acting import Actor
from hogwild.config.settings import Settings, of_worker
from hogwild.envs.batch import EnvBatch
from hogwild.envs.ids import plan_env
from hogwild.envs.make import make_batch
from hogwild.exchanges.link import Link, PictureSums
from hogwild.learning import GradientComputer
from hogwild.objectives import make_objective
from hogwild.policies.flat import FlatLayout
from hogwild.policies.policy import Policy
from hogwild.report import Report
from hogwild.rollout import Rollout


class Worker:
    """A policy of its own, the environments it plays, and the means to compute gradients."""

    def __init__(
        self, settings: Settings, rank: int, incarnation: int = 0, carried: Sequence[dict[str, float]] = ()
    ) -> None:
        """`incarnation` counts resumes, so that a resumed run plays other games than it already has; `carried` is
        what the preprocessing had learned before."""
        plan = plan_env(settings)
        self.rank = rank
        self.batch: EnvBatch = make_batch(plan, settings.environment, of_worker(settings.environment.envs, rank))
        self.policy = Policy(self.batch.spec, settings.policy)
        layout = FlatLayout(self.policy)
        self.flat = layout.bind(self.policy)
        clip = plan.protocol.reward_clip if plan.protocol else settings.environment.reward_clip or 0.0
        seeds = worker_seeds(settings.execution.seed, rank, incarnation, self.batch.num_envs + 1)
        self.actor = Actor(
            self.policy,
            self.batch,
            of_worker(settings.objective.rollout_steps, rank),
            seed=seeds[0],
            reward_scale=settings.environment.reward_scale,
            reward_clip=clip,
        )
        self.batch.load_carried(list(carried))
        self.actor.reset(seeds[1:])
        self.gradients = GradientComputer(
            self.policy,
            layout,
            make_objective(settings, rank),
            of_worker(settings.objective.max_grad_norm, rank),
        )
        self.keeps_normalising = settings.environment.normalise == "running" and self.policy.picture_layer is not None

    def save(self) -> dict[str, Any] | None:
        """Everything needed to play on exactly from here, if the environments allow it."""
        return self.actor.save()

    def load(self, saved: dict[str, Any]) -> None:
        """Play on from a saved moment."""
        self.actor.load(saved)


def worker_seeds(seed: int, rank: int, incarnation: int, count: int) -> list[int]:
    """Seeds that differ between workers, environments and resumes, and follow from the run's seed.

    >>> worker_seeds(0, 0, 0, 2) != worker_seeds(0, 1, 0, 2)
    True
    """
    sequence = np.random.SeedSequence((seed, rank, incarnation))
    return [int(word) for word in sequence.generate_state(count) >> 1]


def run_worker(
    worker: Worker, link: Link, report: Callable[[Report], None], stopped: Callable[[], bool]
) -> Iterator[None]:
    """Work until stopped. Yields between playing and pushing, and after pushing: there others may come in between."""
    while not stopped():
        began = time.perf_counter()
        pulled = link.pull(worker.flat)
        pulling = time.perf_counter() - began
        rollout = worker.actor.collect(pulled.version)
        before = time.perf_counter()
        gradients = worker.gradients.compute(rollout, pulled.step) if pulled.ready else None
        learning = time.perf_counter() - before
        yield
        before = time.perf_counter()
        metrics: dict[str, float] = {}
        if gradients is not None:
            metrics |= gradients.metrics | link.push(gradients)
        if gradients is None or worker.keeps_normalising:
            link.push(picture_sums(rollout, 0 if gradients is not None else rollout.steps))
        metrics |= {
            "time/environment": worker.actor.env_seconds,
            "time/acting": worker.actor.act_seconds,
            "time/learning": learning,
            "time/exchange": pulling + time.perf_counter() - before,
        }
        updates = int(gradients is not None)
        report(Report.of_rollout(worker.rank, rollout.steps, updates, metrics, rollout.episodes))
        yield


def picture_sums(rollout: Rollout, steps: int) -> PictureSums:
    """Sums over the pictures of a rollout, one time step after the other to save memory."""
    shape = tuple(rollout.observations.shape[2:])
    total, squares = torch.zeros(shape, dtype=torch.float64), torch.zeros(shape, dtype=torch.float64)
    for pictures in rollout.observations[:-1]:
        values = pictures.float()
        total += values.sum(0)
        squares += values.square().sum(0)
    return PictureSums(rollout.steps, total.numpy(), squares.numpy(), steps)
