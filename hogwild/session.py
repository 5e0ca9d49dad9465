"""The numbers of one training and the engine that works on them: built from settings, saved to and loaded from
checkpoints."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hogwild.config.settings import Settings, of_worker
from hogwild.engines.crew import Carried, Crew
from hogwild.engines.engine import Engine
from hogwild.engines.inline import InlineEngine
from hogwild.engines.processes import ProcessEngine
from hogwild.engines.threads import ThreadEngine
from hogwild.envs.env_state import Unrepeatable
from hogwild.errors import CheckpointError, UsageError
from hogwild.exchanges.make import make_shared
from hogwild.exchanges.shared import DISCARDED, DROPPED, SKIPPED, STEPS, STOP, VERSION
from hogwild.faults.keeper import Keeper
from hogwild.onlookers import Onlookers
from hogwild.own import require_own
from hogwild.policies.flat import FlatLayout
from hogwild.policies.make import make_policy
from hogwild.resolve import Resolved
from hogwild.runs.checkpoint import Checkpoint
from hogwild.runs.resuming import refusing_nonsense
from hogwild.threads import one_torch_thread
from hogwild.worker import worker_seeds

RENAMED = {"picture_sums": "input_sums", "picture_count": "input_count"}  # in checkpoints of older versions


def _ray(crew: Crew) -> Engine:
    from hogwild.engines.ray.engine import RayEngine  # only who asks for it needs it

    return RayEngine(crew)


def require_parts(settings: Settings) -> None:
    """Refuse parts of your own that are not there, and an engine that cannot run here, before anything is made."""
    require_own(settings)
    if settings.execution.engine == "ray":
        from hogwild.engines.ray.reaching import require_cluster

        require_cluster(settings.execution.address)


ENGINES: dict[str, Callable[[Crew], Engine]] = {
    "inline": InlineEngine,
    "processes": ProcessEngine,
    "threads": ThreadEngine,
    "ray": _ray,
}


class Session:
    """Shared weights and the engine that changes them."""

    def __init__(self, resolved: Resolved, tape: Path | None = None, folder: Path | None = None) -> None:
        """`tape` is the folder in which the order of events is written down, `folder` that of the run, if any; without
        one nobody can look on."""
        self.resolved = resolved
        self.settings = resolved.settings
        self.workers = self.settings.execution.workers
        with torch.random.fork_rng(devices=[]), one_torch_thread():
            torch.manual_seed(self.settings.execution.seed)
            self.policy = make_policy(resolved.spec, self.settings.policy)
        self.shared = make_shared(self.settings, self.policy)
        self.layout = self.shared.layout
        self.incarnation = 0
        self._saved_engine: dict[str, Any] | None = None
        self.onlookers = Onlookers(folder, self.settings.run.record_inputs, self.settings.run.hooks) if folder else None
        self.engine: Engine = self._make_engine([], tape)

    def _make_engine(self, carried: list[Carried], tape: Path | None = None) -> Engine:
        onlookers = self.onlookers
        if onlookers is not None and self.incarnation:  # a resumed run keeps the inputs that it has
            onlookers = replace(onlookers, record_inputs=0)
        keeper = None if onlookers is None else Keeper(self.settings, onlookers.folder)
        crew = Crew(self.settings, self.shared, self.incarnation, carried, tape, onlookers, keeper)
        return ENGINES[self.settings.execution.engine](crew)

    def counts(self) -> tuple[int, int]:
        """Exact steps and updates so far."""
        return self.shared.counter(STEPS), self.shared.counter(VERSION)

    def losses(self) -> dict[str, float]:
        """What was thrown away so far, if the settings allow that anything is."""
        execution = self.settings.execution
        losses: dict[str, float] = {}
        if (dropped := self.shared.counter(DROPPED)) or execution.when_full != "block":
            losses["async/dropped"] = dropped
        if skipped := self.shared.counter(SKIPPED):
            losses["async/skipped"] = skipped
        if execution.max_lag:
            losses["async/discarded"] = self.shared.counter(DISCARDED)
        return losses

    def seeds(self) -> dict[str, list[int]]:
        """Seeds of every worker: of its actions, then of its environments."""
        seed, envs = self.settings.execution.seed, self.settings.environment.envs
        return {
            f"worker {rank}": worker_seeds(seed, rank, self.incarnation, of_worker(envs, rank) + 1)
            for rank in range(self.workers)
        }

    def weights(self) -> dict[str, np.ndarray]:
        """The weights of this moment by their names."""
        return {name: view.numpy() for name, view in self.layout.views(finite_copy(self.shared.weights))}

    def checkpoint(self) -> Checkpoint:
        """Everything needed to go on."""
        weights = self.weights()
        learner = {k: v.cpu().numpy().copy() for k, v in self.shared.tensors().items() if k != "weights"}
        state: dict[str, Any] = {
            "incarnation": self.incarnation,
            "carried": self.engine.carried(),
            "engine": self.engine.save(),
        }
        return Checkpoint(weights, learner, state)

    def load(self, checkpoint: Checkpoint) -> None:
        """Take over a checkpoint; one that does not fit the settings is refused."""
        saved = checkpoint.state["engine"] if self.settings.execution.engine == "inline" else None
        if saved is not None and len(saved["workers"]) != self.workers:
            raise UsageError(f"The run has {len(saved['workers'])} workers in mid-game; resume it with as many.")
        load_weights(self.layout, self.shared.weights, checkpoint.weights)
        tensors = self.shared.tensors()
        for old_name, array in checkpoint.learner.items():
            name = RENAMED.get(old_name, old_name)
            if name == "counters":  # of which older versions had fewer
                array = np.pad(array, (0, max(0, len(tensors[name]) - len(array))))
            if name not in tensors or tuple(tensors[name].shape) != array.shape:
                raise CheckpointError(
                    f"The checkpoint's {name} has shape {array.shape}, and these settings need "
                    f"{tuple(tensors[name].shape) if name in tensors else 'none'}: it was made with other settings."
                )
            if not np.isfinite(array).all():
                raise CheckpointError(f"The checkpoint's {name} are not finite.")
            tensors[name].copy_(torch.from_numpy(array))
        if missing := {"statistics", "counters"} - set(checkpoint.learner):
            raise CheckpointError(f"The checkpoint has no {' and no '.join(sorted(missing))}.")
        self.shared.counters[STOP] = 0
        self.incarnation = int(checkpoint.state["incarnation"]) + 1
        if self.incarnation < 1:
            raise ValueError(f"incarnation {self.incarnation - 1}")
        self._saved_engine = saved
        self.engine = self._make_engine([[_numbers(env) for env in worker] for worker in checkpoint.state["carried"]])

    @property
    def is_exact(self) -> bool:
        """Whether the loaded checkpoint puts workers back into the middle of their games."""
        return self._saved_engine is not None

    def start(self) -> str:
        """Start the engine, and put workers back into the middle of their games, where the engine and the environments
        allow it; answers what went wrong with that."""
        self.engine.start()
        if self._saved_engine is None:
            return ""
        try:
            with refusing_nonsense("The checkpoint"):
                self.engine.load(self._saved_engine)
        except Unrepeatable as error:
            self.engine.kill()
            self.engine = self._make_engine(self.engine.carried())
            self.engine.start()
            return f"Games start anew: {error}"
        return ""


def _numbers(carried: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in carried.items()}


def finite_copy(weights: torch.Tensor) -> torch.Tensor:
    """The weights of this moment, on the host; refused if any is infinite or not a number.

    They are copied before they are looked at: `isfinite` compares each number with itself, reading it twice, and takes
    one that a worker changes in between for not a number.

    >>> finite_copy(torch.ones(2)).tolist()
    [1.0, 1.0]
    """
    copy = weights.to("cpu", copy=True)
    if not torch.isfinite(copy).all():
        raise CheckpointError("The weights are not finite; the last good checkpoint is kept.")
    return copy


def load_weights(layout: FlatLayout, vector: torch.Tensor, weights: dict[str, np.ndarray]) -> None:
    """Copy named arrays into a flat vector; a different set of names or shapes is refused."""
    views = dict(layout.views(vector))
    wrong = [n for n in views if n not in weights or tuple(views[n].shape) != weights[n].shape]
    if wrong or len(weights) != len(views):
        names = wrong or sorted(set(weights) - set(views))
        raise CheckpointError(f"The checkpoint does not fit this policy: {', '.join(names[:3])} differ.")
    if not all(np.isfinite(array).all() for array in weights.values()):
        raise CheckpointError("The checkpoint's weights are not finite.")
    for name, view in views.items():
        view.copy_(torch.from_numpy(weights[name]))
