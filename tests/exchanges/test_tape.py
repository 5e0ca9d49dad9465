"""The tape: every change in its place, also when a run was killed, and a replay that notices a wrong bit."""

import json
import threading
from pathlib import Path

import pytest
import torch

import hogwild
from hogwild.cli.main import run as command
from hogwild.exchanges.shared import EVENTS
from hogwild.exchanges.tape import Lock, Tape, read_tape, weight_digests
from hogwild.exchanges.weights import WeightsLink
from hogwild.replay import replay
from tests.exchanges.scripted import gradients, make


def test_every_visit_is_written_down_in_its_order(tmp_path: Path) -> None:
    settings, shared = make(lock="turns")
    links = [
        WeightsLink(shared, settings, rank, Lock(tape=Tape(tmp_path / f"{rank}.jsonl", rank, shared)))
        for rank in (0, 1)
    ]
    vector = torch.zeros_like(shared.weights)
    links[1].pull(vector)
    links[0].pull(vector)
    links[1].push(gradients(shared))
    events = read_tape(tmp_path)
    assert [event[:2] for event in events] == [[1, 1], [2, 0], [3, 1]]
    assert events[2][2:] == [1, weight_digests(shared)]
    assert shared.counter(EVENTS) == 3


def test_what_could_not_be_had_is_no_event(tmp_path: Path) -> None:
    _, shared = make()
    lock = Lock(tape=Tape(tmp_path / "0.jsonl", 0, shared))
    with lock:
        lock.nothing_happened()
    with lock:
        pass
    assert read_tape(tmp_path) == [[1, 0]]


def test_a_tape_that_cannot_be_written_leaves_nobody_waiting(tmp_path: Path) -> None:
    _, shared = make()
    inner = threading.Lock()
    lock = Lock(inner, Tape(tmp_path / "0.jsonl", 0, shared))
    (tmp_path / "0.jsonl").mkdir()  # nothing can be added to a folder
    with pytest.raises(IsADirectoryError), lock:
        pass
    assert not inner.locked()


def test_a_tape_that_was_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    (tmp_path / "0.jsonl").write_text("[1, 0]\n[3, 0]\n[6, 0")
    (tmp_path / "1.jsonl").write_text("[2, 1]\n[5, 1]\n")
    assert [event[0] for event in read_tape(tmp_path)] == [1, 2, 3]


def test_one_changed_bit_changes_the_digest_of_its_tensor_alone() -> None:
    _, shared = make()
    before = weight_digests(shared)
    shared.weights.view(torch.int32)[3] ^= 1
    after = weight_digests(shared)
    assert [a != b for a, b in zip(after, before, strict=True)] == [True] + [False] * (len(before) - 1)


def test_a_replay_says_at_which_update_and_in_which_tensor_it_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"engine": "threads", "workers": 2, "envs": 2, "rollout_steps": 4, "minibatches": 1}
    run = hogwild.train(
        "CartPole-v1", **settings, lock="turns", record_schedule=True, steps=200, runs=str(tmp_path), name="taped"
    )
    assert replay(run.folder).differs_at is None
    assert command(["replay", "taped", "--runs", str(tmp_path)]) == 0
    assert "all weights are the same, bit for bit" in capsys.readouterr().out
    tape = next(path for path in (run.path / "tape").iterdir() if len(json.loads(path.read_text().splitlines()[1])) > 2)
    lines = tape.read_text().splitlines()
    event = json.loads(lines[1])
    event[3][1] ^= 1
    tape.write_text("\n".join([lines[0], json.dumps(event), *lines[2:]]) + "\n")
    result = replay(run.folder)
    assert result.differs_at == event[2]
    assert result.tensor == "encoder.layers.0.bias"
    assert command(["replay", "taped", "--runs", str(tmp_path)]) == 1
    assert f"differ from update {event[2]} on, first in 'encoder.layers.0.bias'" in capsys.readouterr().out


def test_a_run_without_a_tape_cannot_be_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hogwild.train("CartPole-v1", engine="inline", workers=1, steps=100, runs=str(tmp_path), name="plain")
    assert command(["replay", "plain", "--runs", str(tmp_path)]) != 0
    assert "--record-schedule --lock turns" in capsys.readouterr().err
