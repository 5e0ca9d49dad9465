"""One run's folder: its files by name, and the rule that a run is never overwritten unasked."""

import contextlib
import dataclasses
import fcntl
import itertools
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import tomli_w

from hogwild.config.settings import Settings, setting_groups
from hogwild.errors import RunFolderError, UsageError
from hogwild.faults.events import Event
from hogwild.files import replace_file, write_json


class RunFolder:
    """Paths of a run, and the files that describe it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.config = path / "config.toml"
        self.meta = path / "meta.json"
        self.status = path / "status.json"
        self.metrics = path / "metrics.jsonl"
        self.episodes = path / "episodes.csv"
        self.log = path / "log.txt"
        self.checkpoints = path / "checkpoints"
        self.tape = path / "tape"
        self.live = path / "live"
        self.inputs = path / "inputs"
        self.blackbox = path / "blackbox"
        self.events = path / "events.jsonl"
        self.evaluations = path / "evaluations.jsonl"
        self.videos = path / "videos"
        self._lock: int | None = None

    def create(self, overwrite: bool = False) -> None:
        """Make a new folder; an existing run is only replaced if asked."""
        if self.config.exists():
            self.lock()  # refused if somebody trains it right now
            self.unlock()
            if not overwrite:
                raise UsageError(
                    f"Run '{self.path}' exists. Go on with it: hogwild resume {self.path}   "
                    f"Start it anew: --overwrite   Keep it: another --name"
                )
        try:
            if self.config.exists():
                shutil.rmtree(self.path)
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            self.log.touch()
        except OSError as error:
            raise RunFolderError(f"Cannot write to '{self.path}': {error.strerror}.") from None

    def lock(self) -> None:
        """Claim the folder for this process until it ends; a second claim is refused."""
        try:
            claim = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise RunFolderError(f"Cannot write to '{self.path}': {error.strerror}.") from None
        try:
            self._claim(claim)
            os.ftruncate(claim, 0)
            os.pwrite(claim, str(os.getpid()).encode(), 0)
        except BlockingIOError:
            owner = os.pread(claim, 20, 0).decode() or "?"
            os.close(claim)
            raise RunFolderError(f"Run '{self.path}' is being trained right now by process {owner}.") from None
        except OSError as error:
            os.close(claim)
            raise RunFolderError(f"Cannot write to '{self.path}': {error.strerror}.") from None
        self._lock = claim

    def _claim(self, file: int) -> None:
        """Try for a moment: whoever asks whether the run is live holds the lock for an instant."""
        for last in (False, False, False, True):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if last:
                    raise
                time.sleep(0.05)
            else:
                return

    def unlock(self) -> None:
        """Give up the claim."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def clear_live(self) -> None:
        """An empty place for viewers; where there can be none, nobody looks on."""
        shutil.rmtree(self.live, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.live.mkdir()

    def is_live(self) -> bool:
        """Whether a process is training this run now."""
        try:
            file = os.open(self.path / ".lock", os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
        return False

    def write_settings(self, settings: Settings) -> None:
        """Write the resolved settings, group by group."""
        content: dict[str, Any] = {"env": settings.env}
        flat = settings.flat()
        for group, kind in setting_groups().items():
            names = kind.__dataclass_fields__
            content[group] = {n: _plain(flat[n]) for n in names if flat[n] is not None}
        replace_file(self.config, tomli_w.dumps(content))

    def write_meta(self, meta: dict[str, Any]) -> None:
        """Write how the run was made."""
        write_json(self.meta, meta)

    def write_status(self, status: dict[str, Any]) -> None:
        """Write where the run stands."""
        write_json(self.status, status)

    def add_event(self, event: Event, step: int) -> None:
        """Add what a run has survived to its events, and the details to its log."""
        line = {"time": time.strftime("%Y-%m-%d %H:%M:%S"), "step": step} | dataclasses.asdict(event)
        try:
            with open(self.events, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise RunFolderError(f"Cannot write '{self.events}': {error.strerror}.") from None
        if event.details:
            self.note(event.details)

    def note(self, line: str) -> None:
        """Add a line to the run's log."""
        if not line:
            return
        try:
            with open(self.log, "a", encoding="utf-8") as file:
                file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")
        except OSError as error:
            raise RunFolderError(f"Cannot write '{self.log}': {error.strerror}.") from None


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return value[0] if len(value) == 1 else list(value)
    return value


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; empty if it is missing or damaged."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def folder_name(words: str) -> str:
    """Words as the name of a folder.

    >>> folder_name("ale/pong-v5")
    'ale-pong-v5'
    """
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in words)


def default_name(settings: Settings) -> str:
    """Name for a run that was given none; one that is not taken yet. A method that is not the usual one is part of it.

    >>> default_name(Settings().update(env="ALE/Pong-v5", objective="ppo", seed=1)).startswith("ale-pong-v5-ppo-seed1-")
    True
    """
    usual, runs = Settings(), Path(settings.run.runs)
    method = [
        *([settings.objective.objective] if settings.objective.objective != usual.objective.objective else []),
        *([settings.execution.exchange] if settings.execution.exchange != usual.execution.exchange else []),
        *([settings.execution.engine] if settings.execution.engine != usual.execution.engine else []),
    ]
    words = "-".join([settings.env.lower(), *method, f"seed{settings.execution.seed}", time.strftime("%Y%m%d-%H%M%S")])
    name = folder_name(words)
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(n for n in names if not (runs / n).exists())
