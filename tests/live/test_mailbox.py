"""The mailbox between a worker and its viewers: nothing while nobody looks, and never half a moment."""

import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hogwild.live import mailbox
from hogwild.live.mailbox import RING, Inbox, Outbox, frames_file, wanted_file
from hogwild.policies.spec import PolicySpec, choice

SHAPE = (2, 3, 3)
SPEC = PolicySpec(SHAPE, "uint8", choice(3))


def outbox(folder: Path) -> Outbox:
    return Outbox(folder, 0, SPEC)


def show(box: Outbox, number: int) -> None:
    fields: dict[str, Any] = {"observation": np.full(SHAPE, number % 256), "probabilities": [0.2, 0.3, 0.5]}
    box.see(**fields, value=number / 2, action=1, reward=1.0, score=float(number), length=number, over=False)


def look_again(inbox: Inbox) -> None:
    inbox.touched = -np.inf
    inbox.look()


def test_while_nobody_looks_nothing_is_written(tmp_path: Path) -> None:
    box = outbox(tmp_path / "live")
    assert not box.is_there()
    show(box, 1)
    assert list(tmp_path.iterdir()) == []


def test_moments_arrive_in_order_and_once(tmp_path: Path) -> None:
    box, inbox = outbox(tmp_path), Inbox(tmp_path, 0)
    inbox.look()
    assert list(inbox.moments()) == []
    assert box.is_there()
    show(box, 1)
    look_again(inbox)
    show(box, 2)
    found = list(inbox.moments())
    assert [int(moment["number"]) for moment in found] == [1, 2]
    assert (found[1]["observation"] == 2).all()
    assert found[1]["probabilities"].tolist() == pytest.approx([0.2, 0.3, 0.5])
    assert (found[1]["value"], found[1]["action"], found[1]["score"], found[1]["length"]) == (1.0, 1, 2.0, 2)
    assert list(inbox.moments()) == []


def test_who_comes_late_or_dawdles_gets_the_newest(tmp_path: Path) -> None:
    box, inbox = outbox(tmp_path), Inbox(tmp_path, 0)
    inbox.look()
    assert box.is_there()
    for number in range(1, 3 * RING):
        show(box, number)
    look_again(inbox)
    numbers = [int(moment["number"]) for moment in inbox.moments()]
    assert numbers[-1] == 3 * RING - 1
    assert numbers == list(range(numbers[0], 3 * RING))
    assert [int(m["length"]) for m in Inbox(tmp_path, 0).moments()] == [], "who has not looked sees nothing"


def test_a_moment_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    box, inbox = outbox(tmp_path), Inbox(tmp_path, 0)
    inbox.look()
    assert box.is_there()
    show(box, 1)
    show(box, 2)
    look_again(inbox)
    assert box.ring is not None
    box.ring[1]["number"] = 0  # as it is between the first and the last stroke
    assert [int(moment["number"]) for moment in inbox.moments()] == [2]


def test_who_goes_away_is_forgotten(tmp_path: Path) -> None:
    box, inbox = outbox(tmp_path), Inbox(tmp_path, 0)
    inbox.look()
    assert box.is_there()
    long_ago = time.time() - 2 * mailbox.FRESH_SECONDS
    os.utime(wanted_file(tmp_path, 0), (long_ago, long_ago))
    assert not box.is_there()
    assert not frames_file(tmp_path, 0).exists()
    assert box.ring is None


def test_a_worker_that_was_started_anew_is_found_again(tmp_path: Path) -> None:
    first, inbox = outbox(tmp_path), Inbox(tmp_path, 0)
    inbox.look()
    assert first.is_there()
    show(first, 5)
    look_again(inbox)
    assert len(list(inbox.moments())) == 1
    second = outbox(tmp_path)
    assert second.is_there()
    show(second, 7)
    look_again(inbox)
    assert [int(moment["length"]) for moment in inbox.moments()] == [7]


def test_where_nothing_can_be_written_nobody_sees_anything_and_the_game_goes_on(tmp_path: Path) -> None:
    frames_file(tmp_path, 0).mkdir()
    wanted_file(tmp_path, 0).touch()
    box = outbox(tmp_path)
    assert not box.is_there()
    show(box, 1)


def test_a_viewer_makes_no_folder_in_a_run_that_is_over(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path / "live", 0)
    inbox.look()
    assert list(inbox.moments()) == []
    assert list(tmp_path.iterdir()) == []


def write_quickly(folder: Path, seconds: float) -> None:
    box, deadline, number = outbox(folder), time.monotonic() + seconds, 0
    assert box.is_there()
    while time.monotonic() < deadline:
        number += 1
        show(box, number)


def test_a_reader_beside_a_writer_never_gets_half_a_moment(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, 0)
    inbox.look()
    writer = multiprocessing.get_context("spawn").Process(target=write_quickly, args=(tmp_path, 2.0))
    writer.start()
    last, count = 0, 0
    while writer.is_alive():
        look_again(inbox)
        for moment in inbox.moments():
            assert int(moment["number"]) > last
            last, count = int(moment["number"]), count + 1
            assert int(moment["length"]) == float(moment["score"]) == last
            assert (moment["observation"] == last % 256).all()
    writer.join()
    assert writer.exitcode == 0
    assert count > 100


def test_asking_whether_somebody_is_there_costs_microseconds(tmp_path: Path) -> None:
    """A rollout takes a tenth of a second at least: this is one part in a thousand of it at most."""
    box = outbox(tmp_path)
    started = time.process_time()
    for _ in range(1000):
        box.is_there()
    assert (time.process_time() - started) / 1000 < 1e-4
