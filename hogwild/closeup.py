"""A closer look for TensorBoard (`--detailed-logs`): inputs as pictures, and histograms of weights, gradients,
activations and optimizer statistics.

Workers know nothing of it. The coordinator looks on at worker 0 like any viewer, takes a copy of the newest weights,
and computes on its own what the objective would make of the last steps.
"""

import contextlib
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hogwild.eyes import listening
from hogwild.learning import GradientComputer
from hogwild.live.mailbox import Inbox
from hogwild.objectives import make_objective
from hogwild.policies.flat import FlatLayout
from hogwild.policies.make import make_policy
from hogwild.policies.policy import Policy
from hogwild.rollout import Played, Rollout
from hogwild.runs.folder import RunFolder
from hogwild.runs.writers import EventWriter, RunWriter
from hogwild.session import Session
from hogwild.threads import one_torch_thread

EVERY_SECONDS = 20.0
STEPS = 64  # of worker 0 that are learned from, for show


class Closeup:
    """Looks at a run every now and then, and writes down what it sees."""

    def __init__(self, session: Session, folder: RunFolder) -> None:
        self.session, self.settings = session, session.settings
        self.inbox = Inbox(folder.live, rank=0)
        self.policy = make_policy(session.resolved.spec, self.settings.policy)
        self.layout = FlatLayout(self.policy)
        self.flat = self.layout.bind(self.policy)
        self.gradients = GradientComputer(self.policy, self.layout, make_objective(self.settings, 0), max_norm=0.0)
        self.looked, self.is_over = time.monotonic(), False
        self._draw_graph(folder)

    def _draw_graph(self, folder: RunFolder) -> None:
        """The policy's graph, as torch writes it; where a policy cannot be traced, there is none."""
        from torch.utils.tensorboard import SummaryWriter

        shape, dtype = self.policy.spec.observation_shape, getattr(torch, self.policy.spec.observation_dtype)
        question = (
            torch.zeros(1, 1, *shape, dtype=dtype),
            self.policy.initial_state(1),
            torch.zeros(1, 1, dtype=torch.bool),
        )
        with warnings.catch_warnings(), SummaryWriter(str(folder.path), filename_suffix=".graph") as writer:
            warnings.simplefilter("ignore")  # of what depends on the size of the batch
            with torch.no_grad(), contextlib.suppress(Exception):
                writer.add_graph(self.policy, question, use_strict_trace=False)

    def stay(self) -> None:
        """Go on looking on: a viewer who says nothing for some seconds is forgotten."""
        self.inbox.look()

    def look(self, writer: RunWriter, step: int) -> str:
        """When it is time, write what there is to see. The first trouble is the last: answers what it was."""
        if self.is_over or time.monotonic() - self.looked < EVERY_SECONDS:
            return ""
        self.looked = time.monotonic()
        try:
            writer.show(self._show, step)
        except Exception as error:  # an onlooker cannot end a training
            self.is_over = True
            return f"--detailed-logs: {type(error).__name__}: {error}. Training goes on without them."
        return ""

    def _show(self, events: EventWriter, step: int) -> None:
        moments = list(self.inbox.moments(STEPS + 1))
        with one_torch_thread():
            for name, values in self._numbers(moments, step):
                events.histogram(name, values, step)
            if moments and moments[-1]["observation"].ndim == 3:
                events.pictures("input/observation", moments[-1]["observation"], step)

    def _numbers(self, moments: list[Any], step: int) -> Iterator[tuple[str, np.ndarray]]:
        weights = self.session.weights()
        for name, view in self.layout.views(self.flat):
            view.copy_(torch.from_numpy(weights[name]))
            yield f"weights/{name}", weights[name]
        for number, row in enumerate(self.session.shared.statistics[0]):
            for name, view in self.layout.views(row.cpu()):
                yield f"optimizer-{number}/{name}", view.numpy()
        plan, environment = self.session.resolved.plan, self.settings.environment
        deviation = float(self.policy.rewards.deviation) if self.policy.rewards is not None else 1.0
        rollout = rollout_of(moments, self.policy, lambda rewards: plan.as_learned(rewards, environment, deviation))
        if rollout is None:
            return
        with listening(self.policy) as heard, torch.no_grad():
            self.policy(rollout.observations, rollout.state, rollout.first)
        for name, answer in heard.items():
            yield f"activations/{name}", answer.numpy()
        minibatch = next(iter(self.gradients.minibatches(rollout)))
        self.gradients.compute(minibatch, step, rollout.steps, rollout.played)
        for name, view in self.layout.views(self.gradients.flat):
            yield f"gradients/{name}", view.numpy()


def rollout_of(moments: list[Any], policy: Policy, as_learned: Any) -> Rollout | None:
    """The last steps of one environment as a rollout; None if there are too few, or some are missing in between."""
    numbers = [int(moment["number"]) for moment in moments]
    if len(moments) < 2 or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return None
    count = len(moments) - 1

    def column(name: str, length: int = count) -> Tensor:
        return torch.from_numpy(np.stack([np.asarray(moment[name]) for moment in moments[:length]]))[:, None]

    over = column("over", count + 1)
    rewards = torch.from_numpy(as_learned(column("reward").numpy()).astype(np.float32))
    return Rollout(
        observations=column("observation", count + 1),
        actions=column("action"),
        log_probs=column("log_prob"),
        values=column("value", count + 1),
        rewards=rewards,
        terminated=over[:-1],
        truncated=torch.zeros_like(over[:-1]),
        final_value=torch.zeros_like(rewards),
        first=torch.cat([torch.zeros_like(over[:1]), over[:-1]]),
        state=policy.initial_state(1),
        played=(Played(0),),
    )
