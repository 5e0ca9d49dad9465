"""The part of a rollout that one update learns from, with what every step of it is worth."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from hogwild.objectives.targets import Targets
from hogwild.rollout import Rollout, equal_parts


@dataclass(frozen=True)
class Minibatch:
    """Sequences [T, N] of a rollout, or single steps of it as [1, M]."""

    observations: Tensor  # [T, N, …]
    actions: Tensor  # [T, N] or [T, N, K]
    log_probs: Tensor  # [T, N] of those actions, by the policy that took them
    values: Tensor  # [T, N] by the policy that took them
    first: Tensor  # [T, N]
    state: Tensor  # [N, S]
    advantage: Tensor  # [T, N]
    target: Tensor  # [T, N] for the value
    known: Tensor  # [T, N] False where a step has no target


def whole(rollout: Rollout, targets: Targets) -> Minibatch:
    """All of a rollout."""
    advantage, target, known = targets.estimate(rollout)
    return Minibatch(
        observations=rollout.observations[:-1],
        actions=rollout.actions,
        log_probs=rollout.log_probs,
        values=rollout.values[:-1],
        first=rollout.first[:-1],
        state=rollout.state,
        advantage=advantage,
        target=target,
        known=known,
    )


def in_order(everything: Minibatch, parts: int) -> Iterator[Minibatch]:
    """Environments in their order, in equal parts; nothing is copied."""
    for chosen in equal_parts(everything.first.shape[1], parts):
        yield select_sequences(everything, chosen)


def shuffled_sequences(everything: Minibatch, parts: int, generator: torch.Generator) -> Iterator[Minibatch]:
    """Environments in random order, in equal parts: each keeps its whole sequence, which a memory needs."""
    order = torch.randperm(everything.first.shape[1], generator=generator)
    for chosen in equal_parts(len(order), parts):
        yield select_sequences(everything, order[chosen])


def shuffled_steps(everything: Minibatch, parts: int, generator: torch.Generator) -> Iterator[Minibatch]:
    """Single steps in random order, in equal parts."""
    steps, envs = everything.first.shape
    order = torch.randperm(steps * envs, generator=generator)
    observations = everything.observations.flatten(0, 1)  # too large to be copied as a whole
    shuffled = {  # the rest all at once: to pick a few of each, again and again, is slower
        name: value[order % envs] if name == "state" else value.flatten(0, 1)[order][None]
        for name, value in vars(everything).items()
        if name != "observations"
    }
    for part in equal_parts(len(order), parts):
        rest = {name: value[part] if name == "state" else value[:, part] for name, value in shuffled.items()}
        yield Minibatch(observations=observations[order[part]][None], **rest)


def select_sequences(everything: Minibatch, envs: Tensor | slice) -> Minibatch:
    """The sequences of some environments."""
    return Minibatch(
        **{name: value[envs] if name == "state" else value[:, envs] for name, value in vars(everything).items()}
    )
