"""Other trackers of experiments: the same rows of metrics, sent to Weights & Biases, MLflow or Trackio as well.

Each is an extra (`pip install 'hogwild[wandb]'`), imported only when it is asked for. What goes wrong with one is said
once; training goes on without it.
"""

import importlib.util
import re
import time
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

    def close(self) -> None:
        """The run is over, or paused."""
        ...


class WandbTracker:
    """Weights & Biases: online, or offline with WANDB_MODE=offline; a resumed run goes on with its page."""

    def __init__(self, folder: RunFolder, settings: dict[str, Any]) -> None:
        import wandb

        identity = re.sub(r"[^\w-]", "-", folder.name)
        self.run = wandb.init(
            project=PROJECT, name=folder.name, id=identity, dir=str(folder.path), config=settings, resume="allow"
        )

    def log(self, row: dict[str, float], step: int) -> None:
        """Take in one row."""
        self.run.log(row, step=step)

    def close(self) -> None:
        """Send what is left."""
        self.run.finish()


class MLflowTracker:
    """MLflow: where MLFLOW_TRACKING_URI says, else its usual place; the run's folder remembers its id."""

    def __init__(self, folder: RunFolder, settings: dict[str, Any]) -> None:
        from mlflow import MlflowClient

        self.client = MlflowClient()
        memory = folder.path / "mlflow-run.txt"
        if memory.exists():
            self.id = memory.read_text().strip()
            self.client.update_run(self.id, status="RUNNING")
            return
        experiment = self.client.get_experiment_by_name(PROJECT)
        where = experiment.experiment_id if experiment else self.client.create_experiment(PROJECT)
        self.id = self.client.create_run(where, run_name=folder.name).info.run_id
        memory.write_text(self.id)
        for name, value in settings.items():
            self.client.log_param(self.id, name, value)

    def log(self, row: dict[str, float], step: int) -> None:
        """Take in one row."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        self.client.log_batch(self.id, metrics=[Metric(name, value, now, step) for name, value in row.items()])

    def close(self) -> None:
        """Say that it is over."""
        self.client.set_terminated(self.id)


class TrackioTracker:
    """Trackio: in its own folder on this machine, or in a Space of the user's."""

    def __init__(self, folder: RunFolder, settings: dict[str, Any]) -> None:
        import trackio

        self.trackio = trackio
        trackio.init(project=PROJECT, name=folder.name, config=settings, resume="allow", embed=False)

    def log(self, row: dict[str, float], step: int) -> None:
        """Take in one row."""
        self.trackio.log(row, step=step)

    def close(self) -> None:
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

    def close(self) -> str:
        """The run is over; answers what went wrong, or nothing."""
        tracker, self.tracker = self.tracker, None
        return "" if tracker is None else self._try(tracker.close)

    def _try(self, call: Callable[[], Any]) -> str:
        try:
            call()
        except Exception as error:  # somebody else's network, disk or account: none of it may end a training
            self.tracker = None
            return f"--track {self.name}: {type(error).__name__}: {error}. Training goes on without it."
        return ""
