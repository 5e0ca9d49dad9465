"""Recorded inputs under the eye: do they agree with each other, and what do they look like?

Everything is recomputed here the slow way, straight from the definitions, with no code of the training itself.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hogwild.config.settings import Settings, of_worker
from hogwild.inputs import Recorded, same


@dataclass(frozen=True)
class Check:
    """One question to the recorded tensors, and its answer."""

    question: str
    problems: tuple[str, ...]  # the first few; none if all is well
    looked_at: int  # places

    @property
    def holds(self) -> bool:
        """Whether all is well."""
        return not self.problems


def check_all(update: Recorded, rollout: Recorded, settings: Settings) -> list[Check]:
    """Every question that makes sense for these tensors."""
    checks = [stacks_shift(rollout), starts_follow_ends(rollout), steps_come_from_the_rollout(update, rollout)]
    if "advantage" in update.tensors and settings.objective.returns == "gae":
        checks.append(returns_follow(update, rollout, settings))
    return checks


def stacks_shift(rollout: Recorded) -> Check:
    """Of stacked pictures, each observation has to be the one before, moved on by one."""
    question = "each stack of pictures is the one before, moved on by one"
    observations, first = rollout.tensors["observations"], rollout.tensors["first"]
    if observations.ndim != 5 or observations.shape[2] < 2:
        return Check("observations are no stacks of pictures: nothing to compare", (), 0)
    problems, looked_at = [], 0
    for t in range(len(observations) - 1):
        for env in range(observations.shape[1]):
            if first[t + 1, env]:
                continue
            looked_at += 1
            if not torch.equal(observations[t, env, 1:], observations[t + 1, env, :-1]):
                problems.append(f"step {t} to {t + 1} of environment {env}")
    return Check(question, tuple(problems[:5]), looked_at)


def starts_follow_ends(rollout: Recorded) -> Check:
    """An episode begins exactly where one has ended."""
    tensors = rollout.tensors
    ended = tensors["terminated"] | tensors["truncated"]
    wrong = (tensors["first"][1:] != ended).nonzero().tolist()
    problems = tuple(f"step {t + 1} of environment {env}" for t, env in wrong[:5])
    return Check("episodes begin where one has ended, and nowhere else", problems, ended.numel())


def steps_come_from_the_rollout(update: Recorded, rollout: Recorded) -> Check:
    """What an update learns from are steps of its rollout: the picture, the action and its probability together."""
    mine, theirs = update.tensors, rollout.tensors
    count = mine["actions"].numel()
    pictures = mine["observations"][: mine["actions"].shape[0]].flatten(0, 1)
    known: dict[bytes, list[tuple[int, float]]] = {}
    for picture, action, log_prob in zip(
        theirs["observations"][:-1].flatten(0, 1),
        theirs["actions"].flatten(),
        theirs["log_probs"].flatten(),
        strict=True,
    ):
        known.setdefault(picture.numpy().tobytes(), []).append((int(action), float(log_prob)))
    steps = zip(pictures, mine["actions"].flatten(), mine["log_probs"].flatten(), strict=True)
    wrong = [
        number
        for number, (picture, action, log_prob) in enumerate(steps)
        if (int(action), float(log_prob)) not in known.get(picture.numpy().tobytes(), [])
    ]
    problems = tuple(f"step {number} of the update" for number in wrong[:5])
    return Check("every step of the update is a step of the rollout, with its action and probability", problems, count)


def returns_follow(update: Recorded, rollout: Recorded, settings: Settings) -> Check:
    """Advantages and targets, from their definition."""
    advantage, target = slow_advantages(rollout, settings)
    mine = update.tensors
    question = "advantages and value targets follow from rewards, values and ends"
    if mine["advantage"].shape == advantage.shape:
        fits = same(mine["advantage"], advantage) and same(mine["target"], target)
        return Check(question, () if fits else ("they differ",), advantage.numel())
    pairs = {
        (round(float(a), 3), round(float(v), 3)) for a, v in zip(advantage.flatten(), target.flatten(), strict=True)
    }
    near = [
        number
        for number, (a, v) in enumerate(zip(mine["advantage"].flatten(), mine["target"].flatten(), strict=True))
        if not any((round(float(a) + i, 3), round(float(v) + j, 3)) in pairs for i in NEAR for j in NEAR)
    ]
    return Check(question, tuple(f"step {number} of the update" for number in near[:5]), mine["advantage"].numel())


NEAR = (0.0, 0.001, -0.001)  # rounding may fall to either side


def slow_advantages(rollout: Recorded, settings: Settings) -> tuple[Tensor, Tensor]:
    """Generalised advantages and value targets, one step after the other."""
    r = rollout.tensors
    rank = int(rollout.about["rank"])
    discount = of_worker(settings.objective.discount, rank)
    decay = of_worker(settings.objective.gae_lambda, rank)
    advantage = torch.zeros_like(r["rewards"])
    steps, envs = r["rewards"].shape
    for env in range(envs):
        later = 0.0
        for t in reversed(range(steps)):
            value, reward = float(r["values"][t, env]), float(r["rewards"][t, env])
            if r["terminated"][t, env]:
                later = reward - value
            elif r["truncated"][t, env]:
                later = reward + discount * float(r["final_value"][t, env]) - value
            else:
                error = reward + discount * float(r["values"][t + 1, env]) - value
                later = error + discount * decay * later
            advantage[t, env] = later
    return advantage, advantage + r["values"][:-1]
