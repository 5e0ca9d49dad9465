"""Learning from one rollout through a link: as many updates as the objective asks for."""

from collections.abc import Iterator

from torch import Tensor

from hogwild.learning import GradientComputer
from hogwild.report import Report
from hogwild.rollout import Rollout
from hogwild.turns import Door, Turn


def learn(
    computer: GradientComputer, flat: Tensor, door: Door, rollout: Rollout, step: int, news: Report, steps: int = -1
) -> Iterator[Turn]:
    """Push the gradients of a rollout; between two of them, bring the weights `flat` up to date.

    The first update counts the rollout's steps, unless `steps` says how many there are still to count.
    """
    steps = rollout.steps if steps < 0 else steps
    for number, minibatch in enumerate(computer.minibatches(rollout)):
        if number:
            step = (yield from door.pull(flat)).step
        with door.clock.of("learning"):
            gradients = computer.compute(minibatch, step, 0 if number else steps, rollout.played)
        news.take(gradients.metrics)
        if gradients.stop and number:  # the first is always learned from: with it the steps are counted
            return
        news.receive((yield from door.push(gradients)))
