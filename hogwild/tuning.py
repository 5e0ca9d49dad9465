"""How many environments each worker should have on this computer: candidates measured in turns, and a choice."""

import dataclasses
import statistics
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

from hogwild.bench import PausedTraining
from hogwild.resolve import Resolved, resolve

CANDIDATES = (8, 16, 32, 64)
ROUNDS = 2
AS_GOOD = 0.95  # of the fastest: of those, the one with the fewest environments learns the most from each step


@dataclasses.dataclass(frozen=True)
class Candidate:
    """What was measured with one number of environments."""

    envs: int
    steps_per_second: float
    megabytes: float  # private to each worker


def tune(resolved: Resolved, seconds: float, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure training with several numbers of environments, all built once and paused in turns; and choose."""
    speeds: dict[int, list[float]] = {envs: [] for envs in CANDIDATES}
    memory: dict[int, float] = {}
    with ExitStack() as built:
        training = {}
        for envs in CANDIDATES:
            say(f"building {resolved.settings.execution.workers} workers with {envs} environments each …")
            settings = resolve(resolved.settings.update(envs=envs))
            training[envs] = built.enter_context(closing(PausedTraining(settings)))
        for number in range(ROUNDS):
            for envs, paused in training.items():
                speeds[envs].append(paused.measure(seconds)[0])
                memory[envs] = paused.private_megabytes()
            say(f"round {number + 1} of {ROUNDS}: " + ", ".join(f"{n}: {v[-1]:,.0f}" for n, v in speeds.items()))
    found = [Candidate(envs, statistics.mean(speeds[envs]), memory[envs]) for envs in CANDIDATES]
    return {
        "env": resolved.plan.id,
        "workers": resolved.settings.execution.workers,
        "candidates": [dataclasses.asdict(candidate) for candidate in found],
        "envs": choose(found).envs,
    }


def choose(candidates: list[Candidate]) -> Candidate:
    """Of those that are about as fast as the fastest, the one with the fewest environments.

    >>> choose([Candidate(8, 900.0, 1), Candidate(16, 1960.0, 1), Candidate(32, 2000.0, 1)]).envs
    16
    """
    fastest = max(candidate.steps_per_second for candidate in candidates)
    return min(
        (candidate for candidate in candidates if candidate.steps_per_second >= AS_GOOD * fastest),
        key=lambda candidate: candidate.envs,
    )


def tuning_lines(result: dict[str, Any]) -> list[str]:
    """The result for people."""
    lines = ["environments  steps/s  MB in each worker"]
    for each in result["candidates"]:
        chosen = "  ←" if each["envs"] == result["envs"] else ""
        lines.append(f"{each['envs']:>12}  {each['steps_per_second']:>7,.0f}  {each['megabytes']:>17,.0f}{chosen}")
    lines.append(f"use          --workers {result['workers']} --envs {result['envs']}")
    lines.append("why          about as fast as any, and the fewer environments, the more each step teaches")
    return lines
