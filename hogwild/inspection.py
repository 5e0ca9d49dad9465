"""Recorded inputs under the eye: do they agree with each other?

Everything is recomputed here the slow way, straight from the definitions, with no code of the training itself.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from hogwild.config.settings import Settings, of_worker
from hogwild.inputs import Recorded

Place = tuple[int, int]  # step and environment in a rollout


@dataclass(frozen=True)
class Check:
    """One question to the recorded tensors, and its answer."""

    question: str
    problems: tuple[str, ...]  # the first few; none if all is well
    looked_at: int  # places; 0 if the question makes no sense here

    @property
    def holds(self) -> bool:
        """Whether all is well."""
        return not self.problems


@dataclass(frozen=True)
class Judgement:
    """What the steps of a rollout are worth, by definition; None where only the objective itself knows."""

    advantage: Tensor
    target: Tensor
    known: Tensor


def check_all(update: Recorded, rollout: Recorded, settings: Settings, stacked: bool) -> list[Check]:
    """Every question; `stacked` says that observations are stacks of the last pictures."""
    return [
        stacks_shift(rollout, stacked),
        starts_follow_ends(rollout),
        steps_come_from_the_rollout(update, rollout),
        returns_follow(update, rollout, settings),
    ]


def stacks_shift(rollout: Recorded, stacked: bool) -> Check:
    """Of stacked pictures, each observation has to be the one before, moved on by one."""
    observations, first = rollout.tensors["observations"], rollout.tensors["first"]
    problems, looked_at = [], 0
    for t in range(len(observations) - 1 if stacked else 0):
        for env in range(observations.shape[1]):
            if first[t + 1, env]:
                continue
            looked_at += 1
            if not torch.equal(observations[t, env, 1:], observations[t + 1, env, :-1]):
                problems.append(f"step {t} to {t + 1} of environment {env}")
    return Check("each stack of pictures is the one before, moved on by one", tuple(problems[:5]), looked_at)


def starts_follow_ends(rollout: Recorded) -> Check:
    """An episode begins exactly where one has ended."""
    tensors = rollout.tensors
    ended = tensors["terminated"] | tensors["truncated"]
    wrong = (tensors["first"][1:] != ended).nonzero().tolist()
    problems = tuple(f"step {t + 1} of environment {env}" for t, env in wrong[:5])
    return Check("episodes begin where one has ended, and nowhere else", problems, ended.numel())


def places_of(update: Recorded, rollout: Recorded) -> list[list[Place]]:
    """For every step of an update, the places in the rollout with the same observation, action, probability, value and
    beginning; usually one."""
    theirs, mine = rollout.tensors, update.tensors
    steps, envs = theirs["rewards"].shape
    known: dict[tuple[object, ...], list[Place]] = {}
    for t in range(steps):
        for env in range(envs):
            known.setdefault(_fingerprint(theirs, t, env), []).append((t, env))
    length, width = mine["log_probs"].shape
    return [known.get(_fingerprint(mine, t, env), []) for t in range(length) for env in range(width)]


def _fingerprint(tensors: dict[str, Tensor], t: int, env: int) -> tuple[object, ...]:
    single = (float(tensors[name][t, env]) for name in ("log_probs", "values", "first"))
    whole = (tensors[name][t, env].numpy().tobytes() for name in ("observations", "actions"))
    return (*whole, *single)


def steps_come_from_the_rollout(update: Recorded, rollout: Recorded) -> Check:
    """What an update learns from are steps of its rollout, and sequences begin with the memory they had."""
    places = places_of(update, rollout)
    problems = [f"step {number} of the update" for number, found in enumerate(places) if not found]
    length, width = update.tensors["log_probs"].shape
    if length > 1 and not problems:
        for n in range(width):
            memories = [rollout.tensors["state"][env] for t, env in places[n] if t == 0]
            if not any(torch.equal(update.tensors["state"][n], memory) for memory in memories):
                problems.append(f"the memory of sequence {n}")
    return Check(
        "every step of the update is a step of the rollout, with all that belongs to it",
        tuple(problems[:5]),
        len(places),
    )


def returns_follow(update: Recorded, rollout: Recorded, settings: Settings) -> Check:
    """Advantages and targets, from their definition, each at its own step."""
    question = "advantages and value targets follow from rewards, values and ends"
    slow = judge(rollout, settings)
    if slow is None or "advantage" not in update.tensors:
        return Check(question + " (not here: the objective computes them from newer values)", (), 0)
    mine = update.tensors
    size = max(1.0, float(slow.target.abs().max()))
    problems = []
    pairs = zip(mine["advantage"].flatten().tolist(), mine["target"].flatten().tolist(), strict=True)
    for number, ((advantage, target), places) in enumerate(zip(pairs, places_of(update, rollout), strict=True)):
        fits = any(
            not slow.known[place]
            or (_near(advantage, float(slow.advantage[place]), size) and _near(target, float(slow.target[place]), size))
            for place in places
        )
        if not fits:
            problems.append(f"step {number} of the update")
    return Check(question, tuple(problems[:5]), mine["advantage"].numel())


def _near(a: float, b: float, size: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-4 * size)


def judge(rollout: Recorded, settings: Settings) -> Judgement | None:
    """Advantages and value targets, one step after the other, from the end to the beginning."""
    if settings.objective.objective == "vtrace":
        return None
    tensors, rank = rollout.tensors, int(rollout.about["rank"])
    discount = of_worker(settings.objective.discount, rank)
    decay = of_worker(settings.objective.gae_lambda, rank)
    kind = settings.objective.returns
    target, known = torch.zeros_like(tensors["rewards"]), torch.ones_like(tensors["terminated"])
    steps, envs = tensors["rewards"].shape
    for env in range(envs):
        later, ended = float(tensors["values"][steps, env]), False
        for t in reversed(range(steps)):
            reward = float(tensors["rewards"][t, env])
            following = float(tensors["values"][t + 1, env])
            if tensors["terminated"][t, env]:
                later, following, ended = 0.0, 0.0, True
            elif tensors["truncated"][t, env]:
                later = following = float(tensors["final_value"][t, env])
                if kind == "monte-carlo":
                    later = 0.0
                ended = True
            mixed = (1 - decay) * following + decay * later if kind == "gae" else later
            later = reward + discount * mixed
            target[t, env], known[t, env] = later, ended or kind != "monte-carlo"
    return Judgement(target - tensors["values"][:-1], target, known)
