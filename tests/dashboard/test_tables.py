"""Files that grow are read once; what is damaged, cut or replaced does no harm."""

import json
import math
import os
import threading
from pathlib import Path

import pytest

from hogwild.dashboard.tables import EpisodeColumns, MetricColumns, Tables, Tail, sample
from hogwild.runs.folder import RunFolder


def row(step: int, **more: float) -> str:
    return json.dumps({"progress/steps": step, **more}) + "\n"


def test_only_what_was_added_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(row(1, a=1.0) + row(2, a=2.0))
    columns = MetricColumns()
    tail = Tail(path, columns)
    tail.read()
    taken: list[str] = []
    monkeypatch.setattr(columns, "add", lambda line, add=columns.add: (taken.append(line), add(line)))
    with open(path, "a") as file:
        file.write(row(3, a=3.0) + '{"progress/steps": 4')  # the last one is being written
    tail.read()
    assert taken == [row(3, a=3.0).strip()]
    assert columns.arrays()["a"].tolist() == [1.0, 2.0, 3.0]
    with open(path, "a") as file:
        file.write(', "a": 4.0}\n')
    tail.read()
    assert columns.arrays()["progress/steps"].tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("how", ["cut", "replaced"])
def test_a_file_that_is_not_the_same_any_more_is_read_anew(tmp_path: Path, how: str) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(row(1, a=1.0) + row(2, a=2.0))
    columns = MetricColumns()
    tail = Tail(path, columns)
    tail.read()
    if how == "cut":
        os.truncate(path, len(row(1, a=1.0)))
        expected = [1.0]
    else:
        (tmp_path / "new").write_text(row(1, a=5.0) + row(2, a=6.0) + row(3, a=7.0))
        os.replace(tmp_path / "new", path)
        expected = [5.0, 6.0, 7.0]
    tail.read()
    assert columns.arrays()["a"].tolist() == expected


def test_damaged_rows_are_passed_over_and_gaps_stay_gaps(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(
        b"\xff\xfe\n[]\n{}\nnull\n" + row(1, a=1.0).encode() + b'{"progress/steps": "x"}\n'
        b'{"progress/steps": 2, "b": NaN, "a": null}\n' + row(3, b=3.0).encode()
    )
    columns = MetricColumns()
    Tail(path, columns).read()
    assert columns.length == 3
    assert [None if math.isnan(v) else v for v in columns.arrays()["a"]] == [1.0, None, None]
    assert [None if math.isnan(v) else v for v in columns.arrays()["b"]] == [None, None, 3.0]
    assert "c" not in columns.arrays()


def test_games_are_read_without_the_head_of_their_table(tmp_path: Path) -> None:
    path = tmp_path / "episodes.csv"
    path.write_text(
        "step,seconds,worker,return,length\r\n10,1.5,0,20.0,200\r\n11,inf,0,1,1\r\n12,2.0,1,21.0\r\n13,2,1,5,6\r\n"
    )
    columns = EpisodeColumns()
    Tail(path, columns).read()
    assert columns.table().tolist() == [[10.0, 1.5, 0.0, 20.0, 200.0], [13.0, 2.0, 1.0, 5.0, 6.0]]


def test_a_missing_run_has_empty_columns(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "none")
    assert Tables().metrics(folder) == {}
    assert Tables().episodes(folder).shape == (0, 5)


def test_a_sample_is_made_of_rows_that_are_there_and_spans_the_file(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(row(step, a=float(step) ** 2) for step in range(1, 1001)))
    found = sample(path, "progress/steps", "a", 20)
    assert len(found) == 20
    assert all(value == step**2 for step, value in found)
    assert found[0][0] <= 2
    assert found[-1][0] > 900
    assert sample(tmp_path / "none", "progress/steps", "a", 20) == []


def test_many_threads_that_ask_at_once_get_every_row_once(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    tables, wrong = Tables(), []

    def look() -> None:
        for _ in range(200):
            columns = tables.metrics(folder)
            steps = columns.get("progress/steps", [])
            if list(steps) != list(range(len(steps))) or {len(column) for column in columns.values()} > {len(steps)}:
                wrong.append(columns)

    threads = [threading.Thread(target=look) for _ in range(4)]
    with open(folder.metrics, "w") as file:
        for thread in threads:
            thread.start()
        for step in range(2000):
            file.write(row(step, a=float(step), **({"b": 1.0} if step > 1000 else {})))
            file.flush()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(tables.metrics(folder)["b"]) == 2000
