"""Whether a run that was killed and resumed is the run that was never stopped: `hogwild verify-resume`."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hogwild.errors import HogwildError
from hogwild.runs.checkpoint import Checkpoint, list_checkpoints, newest_checkpoint

SECONDS = 0.3  # between checkpoints
PATIENCE = 300.0  # seconds for a first checkpoint
Say = Callable[[str], None]


@dataclass(frozen=True)
class Compared:
    """One component of two runs."""

    component: str
    is_same: bool
    why: str = ""  # where the difference is


def verify_resume(arguments: list[str], folder: Path, say: Say) -> list[Compared]:
    """Train twice with the same arguments, once unbroken, once killed and resumed; compare what is left of each."""
    whole, broken = folder / "whole", folder / "broken"
    say("training without a break …")
    _call(["train", *arguments, *_place(whole)])
    say("training the same, to be killed …")
    step = _train_and_kill(["train", *arguments, *_place(broken)], broken)
    say(f"killed with SIGKILL; going on from step {step:,} …")
    _call(["resume", str(broken), "--quiet"])
    return list(compare(*(newest_checkpoint(run / "checkpoints")[1] for run in (whole, broken))))


def _place(run: Path) -> list[str]:
    return ["--runs", str(run.parent), "--name", run.name, "--quiet", "--checkpoint-seconds", str(SECONDS)]


def _call(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "hogwild", *words], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise HogwildError(done.stderr.strip().removeprefix("hogwild: ") or f"exit code {done.returncode}")


def _train_and_kill(words: list[str], run: Path) -> int:
    """Train until there is a checkpoint, then kill everything at once; answers the step of the checkpoint."""
    process = subprocess.Popen([sys.executable, "-m", "hogwild", *words], start_new_session=True)
    deadline = time.monotonic() + PATIENCE
    try:
        while not (found := list_checkpoints(run / "checkpoints")) and time.monotonic() < deadline:
            if process.poll() is not None:
                raise HogwildError("Training was over before it could be killed; give more --steps.")
            time.sleep(0.01)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if not found:
        raise HogwildError(f"There was no checkpoint within {PATIENCE:g} s.")
    return int(found[-1].name.rpartition("-")[2])


def compare(whole: Checkpoint, broken: Checkpoint) -> Iterator[Compared]:
    """The components of two checkpoints, in the order in which a difference spreads."""
    states = [checkpoint.state for checkpoint in (whole, broken)]
    engines = [state["engine"] for state in states if state.get("engine") is not None]
    if len(engines) < len(states):
        yield Compared("environment state", False, "games start anew: this environment cannot be put back in mid-game")
    else:
        workers = [engine["workers"] for engine in engines]
        yield _component("environment state", *(_pick(each, "environments", "observations") for each in workers))
        random = [[*_pick(each, "random", "shuffling"), e["order"]] for each, e in zip(workers, engines, strict=True)]
        yield _component("random state", *random)
    counts = [{k: state["progress"][k] for k in ("steps", "updates", "episodes", "best")} for state in states]
    yield _component("schedule and counts", *counts)
    yield _component("optimizer", whole.learner, broken.learner)
    yield _component("weights", whole.weights, broken.weights)


def _pick(workers: list[dict[str, Any]], *names: str) -> list[Any]:
    flat = [worker | worker["actor"] for worker in workers]
    return [[each[name] for name in names if name in each] for each in flat]


def _component(name: str, one: Any, other: Any) -> Compared:
    where = difference(one, other)
    return Compared(name, not where, where)


def difference(one: Any, other: Any, path: str = "") -> str:
    """Where two trees of data differ first; empty if they do not.

    >>> difference({"a": [1, np.zeros(2)]}, {"a": [1, np.array([0.0, 1.0])]})
    "'a.1' by up to 1"
    """
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return next(filter(None, (difference(one[k], other[k], f"{path}.{k}") for k in one)), "")
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return next(filter(None, (difference(a, b, f"{path}.{i}") for i, (a, b) in pairs)), "")
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.shape == other.shape:
        if np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
            return ""
        largest = np.abs(one.astype(np.float64) - other.astype(np.float64)).max()
        return f"'{path.lstrip('.')}' by up to {largest:.3g}"
    same = type(one) is type(other) and (one == other or (one != one and other != other))
    return "" if same else f"'{path.lstrip('.')}': {str(one)[:40]} and {str(other)[:40]}"
