"""The files that grow while a run trains: rows of metrics, finished episodes, TensorBoard events."""

import csv
import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from hogwild.errors import RunFolderError
from hogwild.files import replace_file
from hogwild.images import png, spread
from hogwild.report import Episode
from hogwild.runs.folder import RunFolder

EPISODE_COLUMNS = ("step", "seconds", "worker", "return", "length")


class RunWriter:
    """Writes metrics and episodes of one run; a resumed run goes on where its checkpoint stood."""

    def __init__(self, folder: RunFolder, resumed_at: int | None = None) -> None:
        """Rows after step `resumed_at` belong to work that was lost and is done again; they are removed."""
        if resumed_at is not None:
            trim_metrics(folder.metrics, resumed_at)
            trim_episodes(folder.episodes, resumed_at)
        try:
            is_new = not folder.episodes.exists()
            self.metrics = open(folder.metrics, "a", encoding="utf-8")  # noqa: SIM115  (closed in close)
            self.episodes = open(folder.episodes, "a", encoding="utf-8", newline="")  # noqa: SIM115
            self.table = csv.writer(self.episodes)
            if is_new:
                self.table.writerow(EPISODE_COLUMNS)
            self.events = EventWriter(folder.path, resumed_at)
        except OSError as error:
            raise RunFolderError(f"Cannot write to '{folder.path}': {error.strerror}.") from None
        self.path = folder.path

    def write_row(self, row: dict[str, float]) -> None:
        """Add one row of metrics."""
        self._guard(lambda: self.metrics.write(json.dumps(row) + "\n"))
        self._guard(lambda: self.events.write(int(row["progress/steps"]), row))

    def write_settings(self, settings: dict[str, Any]) -> None:
        """Add the settings as a table, for TensorBoard."""
        rows = "\n".join(f"| {name} | {value} |" for name, value in settings.items())
        self._guard(lambda: self.events.text("settings", f"| setting | value |\n|---|---|\n{rows}"))

    def show(self, draw: "Callable[[EventWriter, int], None]", step: int) -> None:
        """Let somebody add pictures and histograms for TensorBoard."""
        self._guard(lambda: draw(self.events, step))

    def write_episodes(self, episodes: Iterable[Episode]) -> None:
        """Add finished games."""
        rows = [(e.step, round(e.seconds, 3), e.worker, e.episode_return, e.length) for e in episodes]
        self._guard(lambda: self.table.writerows(rows))

    def flush(self) -> None:
        """Hand everything to the operating system."""
        self._guard(self.metrics.flush)
        self._guard(self.episodes.flush)
        self._guard(self.events.flush)

    def close(self) -> None:
        """Write what is left and close the files."""
        for close in (self.metrics.close, self.episodes.close, self.events.close):
            self._guard(close)

    def _guard(self, write: Callable[[], Any]) -> None:
        try:
            write()
        except OSError as error:
            raise RunFolderError(f"Cannot write to '{self.path}': {error.strerror}.") from None


class EventWriter:
    """Scalars for TensorBoard, in its own format; written at once, so that a full disk is noticed where it happens."""

    def __init__(self, folder: Path, resumed_at: int | None) -> None:
        # Loaded here: half a second that only a training has to spend.
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter

        self.event, self.summary = event_pb2.Event, summary_pb2.Summary
        name = f"events.out.tfevents.{time.time():.0f}.{socket.gethostname()}.{os.getpid()}"
        self.writer = RecordWriter(open(folder / name, "ab"))  # noqa: SIM115  (closed in close)
        self._add(file_version="brain.Event:2")
        if resumed_at is not None:  # TensorBoard then forgets what it has from this step on
            restart = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            self._add(step=resumed_at + 1, session_log=restart)

    def _add(self, **content: Any) -> None:
        self.writer.write(self.event(wall_time=time.time(), **content).SerializeToString())

    def write(self, step: int, row: dict[str, float]) -> None:
        """Add one point to every curve."""
        values = [self.summary.Value(tag=name, simple_value=value) for name, value in row.items()]
        self._add(step=step, summary=self.summary(value=values))

    def histogram(self, name: str, values: np.ndarray, step: int) -> None:
        """Add how some numbers are spread."""
        from tensorboard.plugins.histogram.summary_v2 import histogram_pb

        self._add(step=step, summary=histogram_pb(name, values.ravel()))

    def pictures(self, name: str, stack: np.ndarray, step: int) -> None:
        """Add stacked pictures [channels, height, width], side by side."""
        shown = spread(stack)
        assert shown is not None
        image = self.summary.Image(height=shown.shape[0], width=shown.shape[1], encoded_image_string=png(shown))
        self._add(step=step, summary=self.summary(value=[self.summary.Value(tag=name, image=image)]))

    def text(self, name: str, content: str) -> None:
        """Add words; Markdown is understood."""
        from tensorboard.plugins.text.summary_v2 import text_pb

        self._add(step=0, summary=text_pb(name, content))

    def flush(self) -> None:
        """Hand what was written to the operating system."""
        self.writer.flush()

    def close(self) -> None:
        """Close the file."""
        self.writer.close()


def trim_metrics(path: Path, step: int) -> None:
    """Remove rows after a step, and a last row that was cut in half."""
    kept = [line for line, row in read_rows(path) if row["progress/steps"] <= step]
    replace_file(path, "".join(line + "\n" for line in kept))


def read_rows(path: Path, most: int = 0) -> list[tuple[str, dict[str, float]]]:
    """Rows of metrics as they stand and as they mean; damaged ones are passed over. Of more than `most`, if that is
    given, evenly spread ones, the last among them."""
    rows: list[tuple[str, dict[str, float]]] = []
    if not path.exists():
        return rows
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    every = -(-len(lines) // most) if most else 1
    for line in reversed(lines[::-every]) if every > 1 else lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and "progress/steps" in row:
            rows.append((line, row))
    return rows


def trim_episodes(path: Path, step: int) -> None:
    """Remove episodes after a step."""
    kept = [",".join(values) for values in read_episodes(path) if int(values[0]) <= step]
    replace_file(path, "\r\n".join([",".join(EPISODE_COLUMNS), *kept, ""]))


def read_episodes(path: Path) -> list[list[str]]:
    """Whole rows of episodes; a last one that was cut in half, or damaged ones, are passed over."""
    if not path.exists():
        return []
    content = path.read_bytes().decode("utf-8", errors="replace")
    rows = [line.split(",") for line in content[: content.rfind("\n") + 1].splitlines()[1:]]
    return [row for row in rows if len(row) == len(EPISODE_COLUMNS) and all(map(_is_number, row))]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
