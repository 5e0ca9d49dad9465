"""Finding runs again: by path or name, and all of a folder for tables."""

import sys
from pathlib import Path
from typing import Any

from hogwild.config.suggest import unknown
from hogwild.errors import CheckpointError
from hogwild.runs.checkpoint import list_checkpoints, newest_checkpoint, read_checkpoint
from hogwild.runs.folder import RunFolder, read_json

LARGEST_NUMBER = 1e18  # that a table shows
CHECKPOINT_WORDS = ("newest", "best")


def find_run(name: str, runs: str = "runs") -> RunFolder:
    """A run by its path, its name, or the word 'latest'; an unknown one is refused with the nearest names."""
    for path in (Path(name), Path(runs) / name):
        if (path / "config.toml").is_file():
            return RunFolder(path)
    folders = list_runs(runs)
    if name == "latest" and folders:
        return max(folders, key=lambda f: f.config.stat().st_mtime)
    hint = f"There is no run in '{runs}' yet." if not folders else "hogwild runs lists them."
    raise unknown("run", name, [f.name for f in folders], hint=hint)


def list_runs(runs: str) -> list[RunFolder]:
    """All runs in a folder, by name."""
    try:
        return [RunFolder(path) for path in sorted(Path(runs).iterdir()) if _is_run(path)]
    except OSError:  # there is no such folder, or it may not be read
        return []


def _is_run(path: Path) -> bool:
    try:
        return (path / "config.toml").is_file()
    except OSError:  # somebody else's folder
        return False


def find_checkpoint(folder: RunFolder, which: str = "newest") -> tuple[Path, Any]:
    """A checkpoint of a run: the 'newest' good one, the 'best', or the one of a step."""
    if which == "newest":
        path, checkpoint, skipped = newest_checkpoint(folder.checkpoints)
        for complaint in skipped:
            print(f"hogwild: {complaint} Taking {path.name} instead.", file=sys.stderr)
        return path, checkpoint
    names = [p.name for p in list_checkpoints(folder.checkpoints)]
    name = str(read_json(folder.status).get("best_checkpoint")) if which == "best" else which
    if name.isdecimal():
        name = f"step-{int(name):012d}"
    if name not in names:
        if which == "best":
            raise CheckpointError(f"Run '{folder.path}' has no best checkpoint yet.")
        raise unknown("checkpoint", which, [*CHECKPOINT_WORDS, *names])
    return folder.checkpoints / name, read_checkpoint(folder.checkpoints / name)


def summarise(folder: RunFolder) -> dict[str, Any]:
    """What a table of runs says about one run."""
    status, meta = read_json(folder.status), read_json(folder.meta)
    made_in = meta.get("environment")
    state = status.get("state", "started")
    if state == "training" and not folder.is_live():
        state = "died"
    return {
        "name": folder.name,
        "env": status.get("env") or (made_in.get("id", "") if isinstance(made_in, dict) else ""),
        "state": state,
        "reason": str(status.get("reason") or "") or ("its process ended without a word" if state == "died" else ""),
        "steps": int(_number(status.get("steps")) or 0),
        "minutes": round((_number(status.get("seconds")) or 0.0) / 60, 2),
        "return_mean": _number(status.get("return_mean")),
        "return_best": _number(status.get("return_best")),
        "created": str(meta.get("created", "")),
    }


def _number(value: Any) -> float | None:
    """A number, if it is one: whoever can write into a run's folder can write anything."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST_NUMBER
    return value if is_number else None
