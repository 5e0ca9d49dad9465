"""What was found out about a file, kept until the file changes."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """Values by the file that they follow from.

    >>> import tempfile
    >>> kept = Kept[int]()
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     kept.get(Path(file.name), lambda: 1, 0), kept.get(Path(file.name), lambda: 2, 0)
    (1, 1)
    >>> kept.get(Path("no such file"), lambda: 3, 0)
    0
    """

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, int, int], Value]] = {}

    def get(self, path: Path, find: Callable[[], Value], without: Value) -> Value:
        """What is known, or what `find` finds if the file has changed; without the file, `without`."""
        try:
            status = path.stat()
        except OSError:  # the run was removed since it was found, or has not written it yet
            return without
        stamp = status.st_ino, status.st_size, status.st_mtime_ns
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            known = self._known[path] = stamp, find()
        return known[1]
