"""What evaluations of a run's checkpoints found, kept in its folder: `evaluations.jsonl`, and films in `videos/`."""

import contextlib
import json
from pathlib import Path
from typing import Any

from hogwild.runs.folder import RunFolder


def note_evaluation(folder: RunFolder, figures: dict[str, Any]) -> None:
    """Add what an evaluation found; where nothing can be written, as in somebody else's folder, it is left out."""
    with contextlib.suppress(OSError), open(folder.evaluations, "a", encoding="utf-8") as file:
        file.write(json.dumps(figures) + "\n")


def read_evaluations(folder: RunFolder) -> list[dict[str, Any]]:
    """All evaluations of a run, the oldest first; damaged lines are passed over."""
    found = []
    try:
        lines = folder.evaluations.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        with contextlib.suppress(ValueError):
            figures = json.loads(line)
            if isinstance(figures, dict):
                found.append(figures)
    return found


def list_videos(folder: RunFolder) -> list[Path]:
    """Films of a run, those of the earliest steps first."""
    if not folder.videos.is_dir():
        return []
    found = (p for p in folder.videos.iterdir() if p.suffix == ".mp4" and not p.name.startswith("."))
    return sorted(p for p in found if p.is_file() and not p.is_symlink())  # a link may lead anywhere
