"""Speed: training beside the bare environments on the same cores, interleaved, since machines are never quiet."""

import dataclasses
import multiprocessing
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import psutil

from hogwild.config.settings import Settings, of_worker
from hogwild.engines.processes import ProcessEngine
from hogwild.engines.spawning import worker_environment
from hogwild.envs.ids import plan_env
from hogwild.envs.make import make_batch
from hogwild.envs.random_play import random_actions
from hogwild.report import Report
from hogwild.resolve import Resolved, resolve
from hogwild.session import Session

WARM_UP = 3.0  # seconds of training that do not count


def measure(
    resolved: Resolved, seconds: float, rounds: int, scaling: bool, say: Callable[[str], None]
) -> dict[str, Any]:
    """Steps per second of training and of the bare environments, in turns, and the ratio of each pair.

    All processes are built once; those whose turn it is not are paused and take no time from the others.
    """
    workers = resolved.settings.execution.workers
    alone = resolve(resolved.settings.update(workers=1)) if scaling and workers > 1 else None
    say(f"building {workers} workers and as many bare environments …")
    runs: dict[str, list[float]] = {"training": [], "bare": [], "single": []}
    total = Report(-1)
    with ExitStack() as built:
        training = built.enter_context(closing(PausedTraining(resolved)))
        single = built.enter_context(closing(PausedTraining(alone))) if alone else None
        bare = built.enter_context(closing(BareEnvironments(resolved.settings, workers)))
        for number in range(rounds):
            speed, report = training.measure(seconds)
            total.add(report)
            runs["training"].append(speed)
            runs["bare"].append(bare.measure(seconds))
            line = f"round {number + 1}: training {runs['training'][-1]:,.0f}, bare {runs['bare'][-1]:,.0f} steps/s"
            if single is not None:
                runs["single"].append(single.measure(seconds)[0])
                line += f", one worker {runs['single'][-1]:,.0f}"
            say(line)
        memory = training.private_megabytes()
    return _result(resolved, runs, total, memory)


def _result(resolved: Resolved, runs: dict[str, list[float]], total: Report, memory: float) -> dict[str, Any]:
    ratios = [t / b for t, b in zip(runs["training"], runs["bare"], strict=True)]
    times = {k.removeprefix("time/"): v / total.steps * 1e6 for k, v in total.sums.items() if k.startswith("time/")}
    result: dict[str, Any] = {
        "env": resolved.plan.id,
        "workers": resolved.settings.execution.workers,
        "envs": list(resolved.settings.environment.envs),
        "training_steps_per_second": statistics.median(runs["training"]),
        "bare_steps_per_second": statistics.median(runs["bare"]),
        "ratio": statistics.median(ratios),
        "microseconds_per_step": {k: round(v, 1) for k, v in times.items()},
        "private_megabytes_per_worker": round(memory),
        "rounds": runs,
    }
    if runs["single"]:
        gains = [t / s for t, s in zip(runs["training"], runs["single"], strict=True)]
        result["speedup_over_one_worker"] = statistics.median(gains)
    return result


def report_lines(result: dict[str, Any]) -> list[str]:
    """The result for people."""
    times = result["microseconds_per_step"]
    total = sum(times.values())
    lines = [
        f"training     {result['training_steps_per_second']:,.0f} steps/s ({result['workers']} workers)",
        f"bare         {result['bare_steps_per_second']:,.0f} steps/s (the environments alone, random actions)",
        f"ratio        {result['ratio']:.2f}",
        "a step costs " + ", ".join(f"{k} {v:.0f} µs ({v / total:.0%})" for k, v in times.items()),
        f"memory       {result['private_megabytes_per_worker']} MB private in each worker",
    ]
    if "speedup_over_one_worker" in result:
        lines.append(f"scaling      {result['speedup_over_one_worker']:.2f} times one worker")
    return lines


class PausedTraining:
    """Real workers on real shared weights, paused between measurements."""

    def __init__(self, resolved: Resolved) -> None:
        # It never ends, and learning begins at once: an estimate of the mean picture would change no speed.
        settings = resolved.settings.update(steps=0, normalise_steps=1)
        self.session = Session(dataclasses.replace(resolved, settings=settings))
        engine = self.session.engine
        assert isinstance(engine, ProcessEngine)
        self.engine = engine
        try:
            engine.start()
            while any(status.steps == 0 for status in engine.statuses if status.role == "worker"):
                engine.poll(0.1)
            while not self._learns():
                engine.poll(0.1)
        except BaseException:
            engine.kill()
            raise
        self._signal("suspend")

    def _learns(self) -> bool:
        return self.session.counts()[1] >= 2 * len(self.engine.statuses)

    def _signal(self, what: str) -> None:
        for process in self.engine.processes:
            getattr(psutil.Process(process.pid), what)()

    def measure(self, seconds: float) -> tuple[float, Report]:
        """Steps per second over a while, and the reports of that while.

        Each worker is measured from the end of one rollout to the end of another: one may take seconds.
        """
        self._signal("resume")
        self._poll_for(min(WARM_UP, seconds / 2), lambda _: None)
        total, spans = Report(-1), {status.rank: Span() for status in self.engine.statuses if status.role == "worker"}

        def count(report: Report) -> None:
            if not report.steps or spans[report.worker].count(report.steps):
                total.add(report)

        self._poll_for(seconds, count)
        while any(not span.steps for span in spans.values()):
            self._poll_for(0.1, count)
        self._signal("suspend")
        return sum(span.steps_per_second() for span in spans.values()), total

    def _poll_for(self, seconds: float, take: Callable[[Report], None]) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            for report in self.engine.poll(min(left, 0.5)):
                take(report)

    def private_megabytes(self) -> float:
        """Memory that each worker has for itself, on average."""
        workers = [status.pid for status in self.engine.statuses if status.role == "worker"]
        used = [psutil.Process(pid).memory_full_info().uss for pid in workers]
        return statistics.mean(used) / 1e6

    def close(self) -> None:
        """End the workers."""
        self.engine.kill()


@dataclasses.dataclass
class Span:
    """From the end of one rollout to that of another: how long it took, and the steps in between."""

    began: float | None = None
    ended: float = 0.0
    steps: int = 0

    def count(self, steps: int) -> bool:
        """Rollouts have ended; the first ones only say when to begin, and do not count."""
        self.ended = time.perf_counter()
        if self.began is None:
            self.began = self.ended
            return False
        self.steps += steps
        return True

    def steps_per_second(self) -> float:
        """Speed of this worker."""
        assert self.began is not None
        return self.steps / (self.ended - self.began)


class BareEnvironments:
    """The same environments in as many processes, stepped with random actions and nothing else."""

    def __init__(self, settings: Settings, workers: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipes: list[Connection] = []
        self.processes = []
        with worker_environment():
            for rank in range(workers):
                ours, theirs = context.Pipe()
                process = context.Process(target=_step_bare, args=(settings, rank, theirs), daemon=True)
                process.start()
                theirs.close()
                self.pipes.append(ours)
                self.processes.append(process)
        for pipe in self.pipes:
            pipe.recv()

    def measure(self, seconds: float) -> float:
        """Steps per second of all processes together."""
        for pipe in self.pipes:
            pipe.send(seconds)
        return float(sum(pipe.recv() for pipe in self.pipes))

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.kill()
            process.join()


def _step_bare(settings: Settings, rank: int, pipe: Connection) -> None:
    batch = make_batch(plan_env(settings), settings.environment, of_worker(settings.environment.envs, rank))
    seen = batch.reset(list(range(batch.num_envs)))
    random = np.random.default_rng(rank)
    pipe.send("ready")
    while True:
        seconds = pipe.recv()
        steps, started = 0, time.perf_counter()
        while time.perf_counter() - started < seconds:
            seen = batch.step(random_actions(batch.spec, seen, random)).observations
            steps += batch.num_envs
        pipe.send(steps / (time.perf_counter() - started))
