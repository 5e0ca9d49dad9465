"""Writing files so that a crash leaves the old one or the new one, never half of one."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from hogwild.errors import RunFolderError


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is on the disk, whole, when this returns."""
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, content: str) -> None:
    """Replace a file by a new one in a single step."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        write_whole(temporary, content.encode())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise RunFolderError(f"Cannot write '{path}': {error.strerror}.") from error


def write_json(path: Path, content: Any) -> None:
    """Replace a JSON file in a single step."""
    replace_file(path, json.dumps(content, indent=2) + "\n")


def sync_folder(path: Path) -> None:
    """Make sure that names created in a folder survive a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
