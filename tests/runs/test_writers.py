"""The files that grow: a resumed run goes on where its checkpoint stood, whatever was written after it."""

import csv
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import hogwild
from hogwild.config.settings import Settings
from hogwild.errors import RunFolderError
from hogwild.report import Episode
from hogwild.runs.folder import RunFolder
from hogwild.runs.writers import EPISODE_COLUMNS, RunWriter, read_rows


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "mine")
    made.create()
    made.write_settings(Settings().update(env="CartPole-v1"))
    return made


def row(step: int) -> dict[str, float]:
    return {"progress/steps": step, "loss/value": step / 8}


def episode(step: int) -> Episode:
    return Episode(episode_return=1.5 * step, length=10, step=step, worker=1, seconds=0.1234567)


def write(folder: RunFolder, steps: list[int], resumed_at: int | None = None) -> None:
    writer = RunWriter(folder, resumed_at)
    for step in steps:
        writer.write_row(row(step))
        writer.write_episodes([episode(step)])
    writer.close()


def steps_of_rows(folder: RunFolder) -> list[float]:
    return [json.loads(line)["progress/steps"] for line in folder.metrics.read_text().splitlines()]


def steps_of_episodes(folder: RunFolder) -> list[int]:
    with open(folder.episodes, newline="") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == EPISODE_COLUMNS
    assert all(len(cells) == len(header) for cells in rows)
    return [int(cells[0]) for cells in rows]


def curve(folder: RunFolder, tag: str) -> list[tuple[int, float]]:
    events = EventAccumulator(str(folder.path))
    events.Reload()
    return [(point.step, point.value) for point in events.Scalars(tag)]


def test_rows_and_episodes_are_written_as_given(folder: RunFolder) -> None:
    write(folder, [100, 200])
    assert [found for _, found in read_rows(folder.metrics)] == [row(100), row(200)]
    with open(folder.episodes, newline="") as file:
        first = next(csv.DictReader(file))
    assert first == {"step": "100", "seconds": "0.123", "worker": "1", "return": "150.0", "length": "10"}


def test_what_was_flushed_can_be_read_while_the_writer_is_open(folder: RunFolder) -> None:
    writer = RunWriter(folder)
    writer.write_row(row(100))
    writer.write_episodes([episode(100)])
    writer.flush()
    assert steps_of_rows(folder) == [100]
    assert steps_of_episodes(folder) == [100]
    writer.close()


def test_what_came_after_the_resumed_step_is_removed(folder: RunFolder) -> None:
    write(folder, [100, 200, 300])
    write(folder, [250], resumed_at=200)
    assert steps_of_rows(folder) == [100, 200, 250]
    assert steps_of_episodes(folder) == [100, 200, 250]


def test_resuming_at_the_last_step_removes_nothing(folder: RunFolder) -> None:
    write(folder, [100, 200])
    write(folder, [], resumed_at=200)
    assert steps_of_rows(folder) == [100, 200]
    assert steps_of_episodes(folder) == [100, 200]


def test_resuming_without_any_files_starts_them(folder: RunFolder) -> None:
    write(folder, [100], resumed_at=0)
    assert steps_of_rows(folder) == [100]
    assert steps_of_episodes(folder) == [100]


def test_a_row_of_metrics_that_was_cut_anywhere_is_removed(folder: RunFolder) -> None:
    write(folder, [100, 200])
    whole = folder.metrics.read_bytes()
    first = whole.index(b"\n") + 1
    for end in range(first, len(whole) - 1):
        folder.metrics.write_bytes(whole[:end])
        write(folder, [], resumed_at=200)
        assert steps_of_rows(folder) == [100]


@pytest.mark.parametrize(
    "end", [b"", b"2", b"200,0.1", b"200,0.123,1,300.0", b"200,0.123,1,300.0,", b"200,0.123,1,300.0,1"]
)
def test_an_episode_that_was_cut_anywhere_is_removed(folder: RunFolder, end: bytes) -> None:
    write(folder, [100])
    folder.episodes.write_bytes(folder.episodes.read_bytes() + end)
    write(folder, [], resumed_at=200)
    assert steps_of_episodes(folder) == [100]
    assert folder.episodes.read_bytes().endswith(b"100,0.123,1,150.0,10\r\n")


def test_damaged_bytes_in_the_middle_are_passed_over(folder: RunFolder) -> None:
    write(folder, [100, 200])
    folder.metrics.write_bytes(b"\x00\xff\x00\n" + folder.metrics.read_bytes())
    header, rest = folder.episodes.read_bytes().split(b"\r\n", 1)
    folder.episodes.write_bytes(header + b"\r\n\x00\xff\x00\r\n" + rest)
    write(folder, [], resumed_at=200)
    assert steps_of_rows(folder) == [100, 200]
    assert steps_of_episodes(folder) == [100, 200]


def test_episodes_can_be_read_while_the_last_one_is_half_written(folder: RunFolder) -> None:
    write(folder, [100])
    with open(folder.episodes, "a") as file:
        file.write("200,0.1")
    assert [found["step"] for found in hogwild.Run(folder.path).episodes()] == [100]


def test_tensorboard_reads_the_scalars_back(folder: RunFolder) -> None:
    write(folder, [100, 200])
    assert curve(folder, "loss/value") == [(100, 12.5), (200, 25.0)]
    assert curve(folder, "progress/steps") == [(100, 100.0), (200, 200.0)]


def test_tensorboard_forgets_what_a_resumed_run_does_again(folder: RunFolder) -> None:
    write(folder, [100, 200, 300])
    write(folder, [250, 350], resumed_at=200)
    steps = [step for step, _ in curve(folder, "loss/value")]
    assert 300 not in steps
    assert steps[-2:] == [250, 350]


def test_tensorboard_keeps_the_row_at_which_a_run_is_resumed(folder: RunFolder) -> None:
    write(folder, [100, 200])
    write(folder, [300], resumed_at=200)
    assert [step for step, _ in curve(folder, "loss/value")] == [100, 200, 300]


def test_a_folder_that_cannot_be_written_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(RunFolderError, match="file/mine"):
        RunWriter(RunFolder(tmp_path / "file" / "mine"))


def test_a_full_disk_is_an_error_with_the_name_of_the_folder(folder: RunFolder) -> None:
    writer = RunWriter(folder)

    class Full:
        def write(self, _: str) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    opened, full = writer.metrics, Full()
    writer.metrics = full  # type: ignore[assignment]
    with pytest.raises(RunFolderError, match="No space left") as caught:
        writer.write_row(row(1))
    assert str(folder.path) in str(caught.value)
    writer.metrics = opened
    writer.close()


@pytest.mark.parametrize("line", ["", "{", "[]", "3", '{"loss/value": 1}', '{"progress/steps": 5, "loss/va'])
def test_lines_that_are_no_rows_are_passed_over(tmp_path: Path, line: str) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(f'{line}\n{{"progress/steps": 7}}\n')
    assert [found for _, found in read_rows(path)] == [{"progress/steps": 7}]


def test_a_missing_file_has_no_rows(tmp_path: Path) -> None:
    rows: list[Any] = read_rows(tmp_path / "metrics.jsonl")
    assert rows == []


def test_of_many_rows_a_few_are_enough(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(f'{{"progress/steps": {step}}}\n' for step in range(1, 1001)))
    steps = [row["progress/steps"] for _, row in read_rows(path, most=300)]
    assert steps == list(range(4, 1001, 4))
    assert len(read_rows(path, most=1000)) == len(read_rows(path)) == 1000
