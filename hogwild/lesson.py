"""Learning from one rollout through a link: as many updates as the objective asks for."""

from collections.abc import Iterator

from torch import Tensor

from hogwild.learning import GradientComputer
from hogwild.report import Report
from hogwild.rollout import Rollout
from hogwild.turns import Door, Turn


def learn(
    computer: GradientComputer, flat: Tensor, door: Door, rollout: Rollout, step: int, steps: int, news: Report
) -> Iterator[Turn]:
    """Push the gradients of a rollout; between two of them, bring the weights `flat` up to date.

    `step` is where the schedules stand; the first update counts `steps`, which are none if they were counted before.
    """
    for number, minibatch in enumerate(computer.minibatches(rollout)):
        if number:
            step = (yield from door.pull(flat)).step
        if computer.recorder is not None:
            computer.recorder.take(rollout, minibatch, number, step)
        with door.clock.of("learning"):
            gradients = computer.compute(minibatch, step, 0 if number else steps, rollout.played, not number)
        if not gradients.is_finite and computer.recorder is not None:
            computer.recorder.take_bad(rollout, minibatch, number, step)
        news.take(gradients.metrics)
        if computer.hooks is not None:
            with door.clock.of("hooks"):
                news.take(computer.hooks.update(gradients.metrics))
        if gradients.stop and number:  # the first is always learned from: with it the steps are counted
            return
        news.receive((yield from door.push(gradients)))
