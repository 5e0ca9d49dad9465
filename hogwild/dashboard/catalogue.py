"""What the page says about runs: the table of all of them, and everything about one."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hogwild.config.settings import Settings, setting_groups
from hogwild.dashboard.curves import RETURNS
from hogwild.dashboard.kept import Kept
from hogwild.dashboard.tables import Tables, sample
from hogwild.doctor import examine
from hogwild.errors import HogwildError
from hogwild.reference import find_reference
from hogwild.resolve import layer, read_settings, resolve
from hogwild.rounds import read_patient
from hogwild.runs.checkpoint import list_checkpoints, step_of
from hogwild.runs.evaluations import list_videos, read_evaluations
from hogwild.runs.find import list_runs, summarise
from hogwild.runs.folder import RunFolder, read_json
from hogwild.runs.metrics import METRICS, metric_of

SPARKS = 32  # points of the small curve in the table
LOG_BYTES = 64_000  # of the end of a run's log
PLACE = ("name", "runs")  # settings that say where a run is, not what it is


class Catalogue:
    """The runs of one folder."""

    def __init__(self, runs: str) -> None:
        self.runs = runs
        self.tables = Tables()
        self._fixed = Kept[dict[str, Any]]()
        self._sparks = Kept[list[tuple[float, float]]]()
        self._findings = Kept[dict[str, Any]]()

    def find(self, name: str) -> RunFolder | None:
        """A run by its exact name. Names are looked up among those that are there, never made into paths."""
        return next((folder for folder in list_runs(self.runs) if folder.name == name), None)

    def rows(self) -> list[dict[str, Any]]:
        """A row of the table for every run."""
        return [self.row(folder) for folder in list_runs(self.runs)]

    def row(self, folder: RunFolder) -> dict[str, Any]:
        """One run in the table; whatever its files hold, the others are shown all the same."""
        try:
            return self._row(folder)
        except Exception:  # files that somebody else wrote, or that are just being removed
            nothing = {"steps": 0, "minutes": 0, "updates": 0, "results": 0, "return_mean": None, "return_best": None}
            words = {"name": folder.name, "env": "", "state": "damaged", "reason": "", "created": ""}
            return words | nothing | {"spark": []}

    def _row(self, folder: RunFolder) -> dict[str, Any]:
        status = read_json(folder.status)
        more = {
            "updates": status.get("updates", 0),
            "results": len(read_evaluations(folder)) + len(list_videos(folder)),
        }
        return summarise(folder) | more | {"spark": self._spark(folder)}

    def _spark(self, folder: RunFolder) -> list[tuple[float, float]]:
        def look() -> list[tuple[float, float]]:
            return sample(folder.metrics, "progress/steps", "episode/return_mean", SPARKS)

        return self._sparks.get(folder.metrics, look, without=[])

    def details(self, folder: RunFolder) -> dict[str, Any]:
        """Everything about a run but its curves."""
        status = read_json(folder.status)
        names = self.tables.metrics(folder)
        ordered = [*(name for name in METRICS if name in names), *sorted(set(names) - set(METRICS))]
        known = ((name, metric_of(name)) for name in ordered)
        metrics = {name: dataclasses.asdict(metric) for name, metric in known if metric is not None}
        about = {
            "name": RETURNS,
            "unit": "score",
            "meaning": "raw returns of whole games: their mean, and where most are",
        }
        return {
            "summary": self.row(folder),
            "meta": read_json(folder.meta),
            "workers": status.get("workers", []),
            "latest": {name: float(column[-1]) for name, column in names.items() if np.isfinite(column[-1])},
            "metrics": {RETURNS: about} | metrics,
            "checkpoints": describe_checkpoints(folder, status),
            "videos": [path.name for path in list_videos(folder)],
            "log": read_end(folder.log),
            "imports": imports(folder),
            **self._of_config(folder),
        }

    def _of_config(self, folder: RunFolder) -> dict[str, Any]:
        """What follows from the settings alone."""

        def look() -> dict[str, Any]:
            return {"settings": describe_settings(folder), "reference": describe_reference(folder)}

        return self._fixed.get(folder.config, look, without={"settings": [], "reference": None})

    def findings(self, folder: RunFolder) -> dict[str, Any]:
        """What the doctor says about a run, or why nothing: he reads all of it, so only when there is more to read."""
        return self._findings.get(folder.metrics, lambda: findings(folder), without={"why": "", "findings": []})


def module_of(settings: Settings) -> str:
    """The modules that have to be imported to play, if any: looking at a run must not do it.

    >>> module_of(Settings(env="my_module:MyEnv-v0")), module_of(Settings(env="pong"))
    ('my_module', '')
    """
    named = (settings.env, settings.policy.encoder, settings.policy.policy_class)
    return ", ".join(dict.fromkeys(name.rpartition(":")[0] for name in named if ":" in name))


def imports(folder: RunFolder) -> str:
    """The module that the environment of a run is in, if it is somebody's own; of a damaged run none is known."""
    try:
        return module_of(read_settings(folder.config))
    except HogwildError:
        return ""


def describe_settings(folder: RunFolder) -> list[dict[str, Any]]:
    """Every setting with its group, its value, and what it would be by default in this environment."""
    try:
        settings = read_settings(folder.config)
    except HogwildError:
        return []
    try:
        usual = Settings() if module_of(settings) else resolve(layer(settings.env)).settings
    except HogwildError:
        usual = Settings()
    values, defaults = settings.flat(), usual.flat()
    rows = [{"group": "", "name": "env", "value": values["env"], "default": values["env"]}]
    for group, kind in setting_groups().items():
        names = [name for name in kind.__dataclass_fields__ if name not in PLACE]
        rows += [{"group": group, "name": n, "value": _shown(values[n]), "default": _shown(defaults[n])} for n in names]
    return rows


def _shown(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) and len(value) == 1 else value


def describe_checkpoints(folder: RunFolder, status: dict[str, Any]) -> list[dict[str, Any]]:
    """The checkpoints of a run, the newest first, with what evaluations found."""
    evaluations = read_evaluations(folder)
    rows: list[dict[str, Any]] = []
    for path in reversed(list_checkpoints(folder.checkpoints)):
        found = [figures for figures in evaluations if figures.get("checkpoint") == path.name]
        try:
            size = sum(file.stat().st_size for file in path.iterdir())
        except OSError:  # the training has just removed it
            continue
        rows.append(
            {
                "name": path.name,
                "steps": step_of(path),
                "megabytes": round(size / 1e6, 2),
                "is_best": path.name == status.get("best_checkpoint"),
                "evaluations": found,
            }
        )
    return rows


def describe_reference(folder: RunFolder) -> dict[str, Sequence[float]] | None:
    """The curve of our own runs, if there is one for this run."""
    try:
        settings = read_settings(folder.config)
        reference = None if module_of(settings) else find_reference(resolve(settings))
    except HogwildError:
        return None
    if reference is None:
        return None
    return {name: getattr(reference, name) for name in ("steps", "low", "middle", "high")}


def findings(folder: RunFolder) -> dict[str, Any]:
    """What the doctor says about a run, or why nothing."""
    try:
        if module_of(read_settings(folder.config)):
            return {"why": "Its environment is a module of its own, which is not imported here.", "findings": []}
        return {"why": "", "findings": [dataclasses.asdict(finding) for finding in examine(read_patient(folder))]}
    except HogwildError as error:
        return {"why": str(error), "findings": []}


def read_end(path: Path) -> str:
    """The end of a text file, from the beginning of a line."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - LOG_BYTES))
            content = file.read()
    except OSError:
        return ""
    if size > LOG_BYTES:
        content = content[content.find(b"\n") + 1 :]
    return content.decode("utf-8", errors="replace")
