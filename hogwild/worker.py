"""A worker, and the only loop there is: pull weights, play a rollout, compute gradients, push them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch

from hogwild.acting import Actor
from hogwild.config.settings import Settings, of_worker
from hogwild.envs.batch import EnvBatch
from hogwild.envs.ids import plan_env
from hogwild.envs.make import make_batch
from hogwild.envs.rewards import Rewards
from hogwild.faults.events import Event, episode_lost, outside_space
from hogwild.input_sums import InputSummer
from hogwild.learning import GradientComputer
from hogwild.lesson import learn
from hogwild.link import InputSums, Link, Pulled
from hogwild.maths.schedules import linear
from hogwild.objectives import make_objective
from hogwild.policies.flat import FlatLayout
from hogwild.policies.make import make_policy
from hogwild.policies.normalisers import FARTHEST
from hogwild.report import Report
from hogwild.rollout import Rollout
from hogwild.turns import Door, Stopped, Turn


class Worker:
    """A policy of its own, the environments it plays, and the means to compute gradients."""

    def __init__(
        self,
        settings: Settings,
        rank: int,
        incarnation: int = 0,
        carried: Sequence[dict[str, float]] = (),
        restart: int = 0,
        recorded: Callable[[EnvBatch], EnvBatch] | None = None,
    ) -> None:
        """`incarnation` counts resumes, so that a resumed run plays other games than it already has, and `restart` who
        died in this place before; `carried` is what the preprocessing had learned; `recorded` puts a recorder beside
        the environments."""
        plan = plan_env(settings)
        self.rank = rank
        envs, is_inline = of_worker(settings.environment.envs, rank), settings.execution.engine == "inline"
        batch = make_batch(plan, settings.environment, envs, can_be_saved=is_inline)
        self.batch = batch if recorded is None else recorded(batch)
        self.policy = make_policy(self.batch.spec, settings.policy).to(of_worker(settings.execution.device, rank))
        layout = FlatLayout(self.policy)
        self.flat = layout.bind(self.policy)
        seeds = worker_seeds(settings.execution.seed, rank, incarnation, self.batch.num_envs + 1, restart)
        self.actor = Actor(
            self.policy,
            self.batch,
            of_worker(settings.objective.rollout_steps, rank),
            seed=seeds[0],
            rewards=Rewards(
                self.batch.num_envs,
                scale=settings.environment.reward_scale,
                clip=plan.reward_clip(settings.environment, FARTHEST if settings.policy.normalise_rewards else 0.0),
                floor=settings.environment.reward_floor,
                discount=of_worker(settings.objective.discount, rank),
                normaliser=self.policy.rewards,
            ),
        )
        self.batch.load_carried(list(carried))
        self.actor.reset(seeds[1:])
        self.gradients = GradientComputer(
            self.policy,
            layout,
            make_objective(settings, rank),
            # At the barrier it is the mean of all gradients that is clipped.
            0.0 if settings.execution.exchange == "barrier" else of_worker(settings.objective.max_grad_norm, rank),
            seed=seeds[0] + 1,
        )
        chosen = settings.objective
        self.persistence = (of_worker(chosen.persistence, rank), chosen.persistence_final)
        self.schedule_steps = settings.optimizer.schedule_steps
        self.summer = InputSummer(self.policy)

    def play(self, pulled: Pulled) -> Rollout:
        """A rollout with the weights that were pulled."""
        self.actor.persist(linear(*self.persistence, self.schedule_steps, pulled.step))
        return self.actor.collect(pulled.version)

    def faults_of_environments(self) -> list[Event]:
        """What environments did wrong since somebody asked."""
        faults, self.actor.faults = self.actor.faults, []
        tells = [(outside_space if fault.is_harmless else episode_lost, fault) for fault in faults]
        return [tell(f"worker {self.rank}", fault.what, fault.details, fault.capsule) for tell, fault in tells]

    def sum_inputs(self, rollout: Rollout, steps: int) -> InputSums:
        """What there is to normalise in a rollout that was just played; `steps` are to be counted."""
        return self.summer.add_up(rollout, self.actor.rewards_learned.sums, steps)

    def save(self) -> dict[str, Any] | None:
        """Everything needed to play on exactly from here, if the environments allow it."""
        playing = self.actor.save()
        if playing is None:
            return None
        shuffling = self.gradients.generator.get_state().numpy()
        return {"actor": playing, "shuffling": shuffling, "weights": self.flat.cpu().numpy().copy()}

    def load(self, saved: dict[str, Any]) -> None:
        """Play on from a saved moment."""
        self.actor.load(saved["actor"])
        self.flat.copy_(torch.from_numpy(saved["weights"]))
        self.gradients.generator.set_state(torch.from_numpy(saved["shuffling"]))


def worker_seeds(seed: int, rank: int, incarnation: int, count: int, restart: int = 0) -> list[int]:
    """Seeds that differ between workers, environments, resumes and replacements, and follow from the run's seed.

    >>> worker_seeds(0, 0, 0, 2) != worker_seeds(0, 1, 0, 2)
    True
    """
    sequence = np.random.SeedSequence((seed, rank, incarnation, *([restart] if restart else [])))
    return [int(word) for word in sequence.generate_state(count) >> 1]


def run_worker(
    worker: Worker,
    link: Link,
    report: Callable[[Report], None],
    enough: Callable[[], bool] = lambda: False,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Turn]:
    """Work until there is `enough`; pauses before everything that others can see or change.

    Whatever is waited for is waited for until the run is `stopped`.
    """
    door = Door(link, stopped)
    with suppress(Stopped):
        while not enough():
            yield Turn.IDLE
            pulled = yield from door.pull(worker.flat)
            rollout = worker.play(pulled)
            news = Report(worker.rank, rollout.steps, episodes=list(rollout.episodes))
            news.take({"reward/mean": rollout.rewards.mean().item()})
            news.events += worker.faults_of_environments()
            if worker.gradients.hooks is not None:
                with door.clock.of("hooks"):
                    news.take(worker.gradients.hooks.rollout(rollout))
            if not pulled.ready:
                yield from door.push(worker.sum_inputs(rollout, rollout.steps))
            elif link.takes_rollouts:
                news.receive((yield from door.push(rollout)))
            else:
                yield from learn(worker.gradients, worker.flat, door, rollout, pulled.step, rollout.steps, news)
            if pulled.ready and worker.summer.is_running:  # after learning: the rollout was played by the old means
                yield from door.push(worker.sum_inputs(rollout, 0))
            yield from door.finish()
            door.clock.add("environment", worker.actor.env_seconds)
            door.clock.add("acting", worker.actor.act_seconds)
            news.take(door.clock.metrics())
            report(news)
