"""Other trackers of experiments: the same rows of metrics, sent to Weights & Biases, MLflow or Trackio as well.

Each is an extra (`pip install 'hogwild[wandb]'`), imported only when it is asked for. What goes wrong with one is said
once; training goes on without it.
"""

import importlib.util
import time
import uuid
from collections.abc import Callable
from typing import Any, Protocol

from hogwild.config.settings import Settings
from hogwild.errors import UsageError
from hogwild.runs.folder import RunFolder

PROJECT = "hogwild"


class Tracker(Protocol):
    """Somebody who keeps rows of metrics."""

    def log(self, row: dict[str, float], step: int) -> None:
        """Take in one row."""
        ...

    def close(self, failed: bool) -> None:
        """The run is over, or paused, or has failed."""
        ...


class WandbTracker:
    """Weights & Biases: online, or offline with WANDB_MODE=offline; a resumed run goes on with its page."""

    def __init__(self, folder: RunFolder, settings: dict[str, Any]) -> None:
        import wandb

        identity, _ = remembered(folder, "wandb-run.txt", lambda: uuid.uuid4().hex)
        self.run = wandb.init(
            project=PROJECT, name=folder.name, id=identity, dir=str(folder.path), config=settings, resume="allow"
        )
        # Its own count of steps never goes back, as a run does that is resumed from its last checkpoint.
        self.run.define_metric("*", step_metric="progress/steps")

    def log(self, row: dict[str, float], step: int) -> None:
        """Take in one row."""
        self.run.log(row | {"progress/steps": step})

    def close(self, failed: bool) -> None:
        """Send what is left."""
        self.run.finish(exit_code=int(failed))


class MLflowTracker:
    """MLflow: where MLFLOW_TRACKING_URI says, else its usual place; the run's folder remembers its id."""

    def __init__(self, folder: RunFolder, settings: dict[str, Any]) -> None:
        from mlflow import MlflowClient

        self.client = MlflowClient()
        self.id, is_new = remembered(folder, "mlflow-run.txt", lambda: self._new_run(folder.name))
        if not is_new:
            self.client.update_run(self.id, status="RUNNING")
            return
        for name, value in settings.items():
            self.client.log_param(self.id, name, value)

    def _new_run(self, name: str) -> str:
        experiment = self.client.get_experiment_by_name(PROJECT)
        where = experiment.experiment_id if experiment else self.client.create_experiment(PROJECT)
        return str(self.client.create_run(where, run_name=name).info.run_id)

    def log(self, row: dict[str, float], step: int) -> None:
        """Take in one row."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        metrics = [Metric(name, value, now, step) for name, value in row.items()]
        self.client.log_batch(self.id, metrics=metrics, synchronous=False)  # training does not wait for a server

    def close(self, failed: bool) -> None:
        """Say that it is over."""
        self.client.set_terminated(self.id, "FAILED" if failed else "FINISHED")


class TrackioTracker:
    """Trackio: in its own folder on this machine, or in a Space of the user's."""

    def __init__(self, folder: RunFolder, settings: dict[str, Any]) -> None:
        import trackio

        self.trackio = trackio
        name, _ = remembered(folder, "trackio-run.txt", lambda: f"{folder.name}-{uuid.uuid4().hex[:6]}")
        trackio.init(project=PROJECT, name=name, config=settings, resume="allow", embed=False)

    def log(self, row: dict[str, float], step: int) -> None:
        """Take in one row."""
        self.trackio.log(row, step=step)

    def close(self, failed: bool) -> None:  # noqa: ARG002
        """Write what is left."""
        self.trackio.finish()


TRACKERS: dict[str, tuple[Callable[[RunFolder, dict[str, Any]], Tracker], str]] = {
    "wandb": (WandbTracker, "wandb"),
    "mlflow": (MLflowTracker, "mlflow"),
    "trackio": (TrackioTracker, "trackio"),
}


def require_tracker(name: str) -> None:
    """Refuse a tracker that is not installed, before anything starts."""
    if name in TRACKERS and importlib.util.find_spec(TRACKERS[name][1]) is None:
        raise UsageError(f"--track {name}: the package is missing: pip install 'hogwild[{name}]'")


def remembered(folder: RunFolder, file: str, make: Callable[[], str]) -> tuple[str, bool]:
    """What a tracker calls this run, and whether it is new there: names of folders come again, these do not."""
    path = folder.path / file
    if path.exists():
        return path.read_text(encoding="utf-8").strip(), False
    name = make()
    path.write_text(name, encoding="utf-8")
    return name, True


class Tracking:
    """The tracker of a run, if one was asked for; the first trouble with it is the last."""

    def __init__(self, folder: RunFolder, settings: Settings) -> None:
        self.folder, self.settings, self.name = folder, settings, settings.run.track
        self.tracker: Tracker | None = None

    def start(self) -> str:
        """Begin; answers what went wrong, in words, or nothing."""
        if self.name == "none":
            return ""
        plain = {name: str(value) for name, value in self.settings.flat().items()}
        return self._try(lambda: setattr(self, "tracker", TRACKERS[self.name][0](self.folder, plain)))

    def log(self, row: dict[str, float]) -> str:
        """Hand on one row; answers what went wrong, or nothing."""
        tracker = self.tracker
        return "" if tracker is None else self._try(lambda: tracker.log(row, int(row["progress/steps"])))

    def close(self, failed: bool) -> str:
        """The run is over; answers what went wrong with that, or nothing."""
        tracker, self.tracker = self.tracker, None
        return "" if tracker is None else self._try(lambda: tracker.close(failed))

    def _try(self, call: Callable[[], Any]) -> str:
        try:
            call()
        except Exception as error:  # somebody else's network, disk or account: none of it may end a training
            self.tracker = None
            return f"--track {self.name}: {type(error).__name__}: {error}. Training goes on without it."
        return ""
