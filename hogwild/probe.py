"""How many environments suit this machine: what a step costs, measured in about a second before training starts.

The usual number is the one that is known to learn well. More of them act in larger batches, which is faster where a
call of the network costs much and its size little (a GPU, above all), but make fewer updates of the same steps; so
another number has to be much faster to be worth it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from hogwild.config.settings import Settings
from hogwild.learning import GradientComputer
from hogwild.machine import available_cores
from hogwild.policies.policy import Policy
from hogwild.resolve import resolve
from hogwild.rollout import Rollout, join
from hogwild.worker import Worker

MORE = (2, 4, 8)  # times the usual number
WORTH = 2.0  # times as fast
ENVS, STEPS = 2, 32  # that are built, and played at once, to find out what a step costs
CALLS = 8


@dataclass(frozen=True)
class Costs:
    """Seconds of one step: its environment, learning from it, and choosing an action among so many environments."""

    environment: float
    learning: float
    acting: dict[int, float]

    def step(self, envs: int) -> float:
        """All of it."""
        return self.environment + self.learning + self.acting[envs]


def fit(settings: Settings) -> tuple[Settings, str]:
    """Settings with the number of environments that suits this machine, and why in words.

    What is to be repeatable must not hang on the machine, so the `inline` engine keeps to the usual number.
    """
    resolved = resolve(settings).settings
    if resolved.execution.engine == "inline" or len(resolved.environment.envs) > 1:
        return settings, ""
    usual = resolved.environment.envs[0]
    try:
        costs = measure_costs(resolved, [usual, *(usual * times for times in MORE)])
    except Exception:  # an environment that fails will fail in a worker, too, and there it is told what happened
        return settings, ""
    chosen = choose(costs, usual)
    workers = resolved.execution.workers
    placed = f"{workers} worker{'s' * (workers > 1)}; " if workers else ""
    words = f"{available_cores()} cores: {placed}{reason(costs, usual, chosen)}"
    return (settings.update(envs=chosen) if chosen != usual else settings), words


def measure_costs(settings: Settings, candidates: list[int]) -> Costs:
    """Play and learn a little with a few environments, and act for as many as each candidate has."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as the workers will have it
    try:
        short = tuple(min(steps, STEPS) for steps in settings.objective.rollout_steps)
        worker = Worker(settings.update(envs=ENVS, rollout_steps=short), rank=0)
        try:
            for _ in range(2):  # the first one is slow
                rollout = worker.actor.collect(0)
        finally:
            worker.batch.close()
        wide = join([rollout] * max(1, candidates[0] // ENVS))  # as wide as usual: small updates are dear
        seconds = _seconds(lambda: _learn(worker.gradients, wide))
        acting = {envs: _acting(worker.policy, envs) / envs for envs in candidates}
        return Costs(worker.actor.env_seconds / rollout.steps, seconds / wide.steps, acting)
    finally:
        torch.set_num_threads(threads)


def _learn(gradients: GradientComputer, rollout: Rollout) -> None:
    for minibatch in gradients.minibatches(rollout):
        gradients.compute(minibatch, 0, rollout.steps, rollout.played)


def _acting(policy: Policy, envs: int) -> float:
    """Seconds to choose actions for so many environments: the fastest of several calls."""
    dtype = getattr(torch, policy.spec.observation_dtype)
    observations = torch.zeros(1, envs, *policy.spec.observation_shape, dtype=dtype, device=policy.device)
    state, first = policy.initial_state(envs), torch.zeros(1, envs, dtype=torch.bool, device=policy.device)
    uniform = torch.rand(envs, policy.actions.draws, generator=torch.Generator().manual_seed(0)).to(policy.device)

    def act() -> None:
        policy.actions.sample(policy(observations, state, first).parameters[0], uniform).cpu()

    with torch.no_grad():
        return min(_seconds(act) for _ in range(CALLS))


def _seconds(call: Callable[[], None]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def choose(costs: Costs, usual: int) -> int:
    """The usual number; or, where some are that much faster, the fewest of them.

    >>> choose(Costs(1.0, 1.0, {16: 1.0, 32: 0.5}), usual=16), choose(Costs(0.1, 0.1, {16: 8.0, 32: 2.0}), usual=16)
    (16, 32)
    """
    return min((n for n in costs.acting if costs.step(usual) >= WORTH * costs.step(n)), default=usual)


def reason(costs: Costs, usual: int, chosen: int) -> str:
    """Why so many, for people.

    >>> reason(Costs(1.0, 1.0, {16: 1.0, 32: 0.5}), usual=16, chosen=16)
    '16 environments for each worker, as usual: 32 would be 1.2 times as fast, but learn less from each step'
    """
    if chosen != usual:
        faster = costs.step(usual) / costs.step(chosen)
        return f"{chosen} environments for each worker: {faster:.1f} times as fast here as the usual {usual}"
    best = min(costs.acting, key=costs.step)
    faster = costs.step(usual) / costs.step(best)
    if best == usual or faster < 1.05:
        return f"{usual} environments for each worker, as usual: more would not be faster"
    return (
        f"{usual} environments for each worker, as usual: {best} would be {faster:.1f} times as fast, "
        "but learn less from each step"
    )
