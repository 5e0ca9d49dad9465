"""Checkpoints: folders of safetensors and JSON that appear whole or not at all, and are checked before they are read.

A checkpoint is written under a temporary name: payloads first, then a manifest with their sizes and SHA-256 digests,
each forced to the disk; then the folder is renamed. Nothing in it can execute anything.
"""

import errno
import hashlib
import json
import os
import re
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from hogwild.errors import CheckpointError, NewerFormat
from hogwild.files import sync_folder, write_whole
from hogwild.runs.tree import join_tree, split_tree

FORMAT = 1
PREFIX = "step-"
NAME = re.compile(r"step-\d+")  # a copy under another name is nobody's checkpoint
MANIFEST = "manifest.json"
LARGEST_MANIFEST, LARGEST_PAYLOAD = 1e6, 4e9  # bytes


@dataclass(frozen=True)
class Checkpoint:
    """Everything that a run needs to go on, or an agent to play."""

    weights: dict[str, np.ndarray]  # parameters and normalisers of the policy, by name
    learner: dict[str, np.ndarray]  # what workers share beside the weights: optimizer statistics, counts
    state: dict[str, Any]  # counters, best results, random states, states of workers


def tidy(folder: Path) -> None:
    """Put back a checkpoint that a kill caught being replaced, and remove what interrupted writes left behind."""
    for leftover in folder.glob(f".{PREFIX}*"):
        final = folder / leftover.name[1:].rsplit(".", 1)[0]
        if leftover.suffix == ".old" and not final.exists():
            os.rename(leftover, final)
        else:
            shutil.rmtree(leftover, ignore_errors=True)
    for folder_without in folder.glob(f"{PREFIX}*"):  # one that a kill caught being removed
        if NAME.fullmatch(folder_without.name) and not (folder_without / MANIFEST).exists():
            shutil.rmtree(folder_without, ignore_errors=True)


def write_checkpoint(folder: Path, step: int, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint into a run's folder of checkpoints; answers where it is."""
    final = folder / f"{PREFIX}{step:012d}"
    temporary = folder / f".{final.name}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    plain, arrays = split_tree(checkpoint.state)
    payloads = {
        "weights.safetensors": save_arrays(checkpoint.weights),
        "learner.safetensors": save_arrays(checkpoint.learner),
        "state.safetensors": save_arrays(arrays),
        "state.json": json.dumps(plain).encode(),
    }
    try:
        temporary.mkdir(parents=True)
        for name, content in payloads.items():
            write_whole(temporary / name, content)
        files = {n: {"size": len(c), "sha256": hashlib.sha256(c).hexdigest()} for n, c in payloads.items()}
        manifest = {"format": FORMAT, "step": step, "files": files, "settings": digest(plain.get("settings"))}
        write_whole(temporary / MANIFEST, json.dumps(manifest, indent=2).encode())
        sync_folder(temporary)
        replaced = folder / f".{final.name}.old"
        if final.exists():  # the same step again, such as a run that was resumed and stopped at once
            shutil.rmtree(replaced, ignore_errors=True)
            os.rename(final, replaced)
        try:
            os.rename(temporary, final)
        except OSError:
            if replaced.exists():
                os.rename(replaced, final)
            raise
        shutil.rmtree(replaced, ignore_errors=True)
        sync_folder(folder)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        size = sum(len(c) for c in payloads.values()) / 1e6
        words = f"Cannot write a checkpoint of {size:.1f} MB to '{folder}': {error.strerror}"
        if error.errno == errno.ENOSPC:
            words += f", {shutil.disk_usage(folder).free / 1e6:.1f} MB are free"
        raise CheckpointError(f"{words}.") from error
    return final


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint, or say what is wrong with it."""
    manifest = read_manifest(path)
    contents: dict[str, bytes] = {}
    for name in ("weights.safetensors", "learner.safetensors", "state.safetensors", "state.json"):
        contents[name] = _read_checked(path / name, manifest["files"].get(name))
    try:
        arrays = {n: load_arrays(contents[f"{n}.safetensors"]) for n in ("weights", "learner", "state")}
        plain = json.loads(contents["state.json"])
        state = join_tree(plain, arrays["state"])
        if manifest["settings"] not in (None, digest(plain.get("settings"))):
            raise ValueError("its settings are not those of its manifest")
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"Checkpoint '{path}' cannot be read: {error}.") from None
    return Checkpoint(arrays["weights"], arrays["learner"], state)


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a checkpoint; without one it was never finished."""
    if path.is_symlink():
        raise CheckpointError(f"'{path}' is a link, and no checkpoint of this run.")
    try:
        if not _is_plain(path / MANIFEST, LARGEST_MANIFEST):
            raise ValueError(MANIFEST)
        manifest = json.loads((path / MANIFEST).read_bytes())
        made_by, files = int(manifest["format"]), dict(manifest["files"])
    except FileNotFoundError:
        raise CheckpointError(f"'{path}' is not a whole checkpoint: it has no {MANIFEST}.") from None
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise CheckpointError(f"Checkpoint '{path}' is damaged: its {MANIFEST} cannot be read.") from None
    if made_by > FORMAT:
        raise NewerFormat(
            f"Checkpoint '{path}' has format {made_by}, and this Hogwild reads up to {FORMAT}: update Hogwild."
        )
    return {"step": manifest.get("step", 0), "files": files, "settings": manifest.get("settings")}


def digest(settings: Any) -> str:
    """SHA-256 of a run's settings, so that it can be told whether two checkpoints were made with the same.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _read_checked(path: Path, expected: Any) -> bytes:
    damaged = CheckpointError(f"Checkpoint '{path.parent}' is damaged: {path.name} is not what was written.")
    if not isinstance(expected, dict):
        raise damaged
    try:
        if not _is_plain(path, LARGEST_PAYLOAD) or path.stat().st_size != expected.get("size"):
            raise damaged
        content = path.read_bytes()
    except OSError:
        raise damaged from None
    if hashlib.sha256(content).hexdigest() != expected.get("sha256"):
        raise damaged
    return content


def _is_plain(path: Path, largest: float) -> bool:
    """Whether a path is a file, and no link to somewhere else or pipe that never answers."""
    status = path.lstat()
    return stat.S_ISREG(status.st_mode) and status.st_size <= largest


def list_checkpoints(folder: Path) -> list[Path]:
    """Finished checkpoints, oldest first; leftovers of interrupted writes are not among them."""
    if not folder.is_dir():
        return []
    return sorted(p for p in folder.iterdir() if NAME.fullmatch(p.name) and (p / MANIFEST).exists())


def step_of(path: Path) -> int:
    """The step of a checkpoint, by its name.

    >>> step_of(Path("step-000000003000"))
    3000
    """
    return int(path.name.removeprefix(PREFIX))


def newest_checkpoint(folder: Path) -> tuple[Path, Checkpoint, list[str]]:
    """The newest checkpoint that can be read, and what was wrong with newer ones."""
    skipped: list[str] = []
    for path in reversed(list_checkpoints(folder)):
        try:
            return path, read_checkpoint(path), skipped
        except NewerFormat:
            raise
        except CheckpointError as error:
            skipped.append(str(error))
    reasons = " ".join(skipped) or "No checkpoint was finished."
    raise CheckpointError(f"Nothing to load in '{folder}'. {reasons}")


def remove_old(newest: Path, keep: int, best: str) -> list[str]:
    """Remove all but the newest `keep` checkpoints and the best one; answers what could not be removed, in words.

    What lies beyond the newest is left over from work that a resumed run could not read, and goes too.
    """
    others = [path for path in list_checkpoints(newest.parent) if path != newest]
    older = [path for path in others if path < newest]
    left = []
    for path in others:
        if path not in older[max(0, len(older) - keep + 1) :] and path.name != best:
            shutil.rmtree(path, ignore_errors=True)
            left += [f"Cannot remove the old checkpoint '{path}'."] if path.exists() else []
    return left
