"""The newest weights, for who plays with them."""

import os
import time
from pathlib import Path

import numpy as np

from hogwild.live.mailbox import FRESH_SECONDS
from hogwild.live.weights import WANTED, WeightsInbox, WeightsOutbox


def test_weights_are_written_when_they_are_wanted_and_read_once(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    outbox, inbox = WeightsOutbox(tmp_path / "live"), WeightsInbox(tmp_path / "live")
    assert not outbox.is_wanted()
    assert inbox.newer() is None
    assert outbox.is_wanted()
    outbox.put({"a": np.ones((2, 3), dtype=np.float32)})
    newer = inbox.newer()
    assert newer is not None
    assert (newer["a"] == 1).all()
    assert inbox.newer() is None
    outbox.put({"a": np.zeros((2, 3), dtype=np.float32)})
    os.utime(tmp_path / "live" / "weights.safetensors", (1.0, 1.0))  # clocks of file systems are coarse
    again = inbox.newer()
    assert again is not None
    assert (again["a"] == 0).all()


def test_where_nothing_can_be_written_training_goes_on(tmp_path: Path) -> None:
    WeightsOutbox(tmp_path / "none").put({"a": np.ones(1, dtype=np.float32)})
    assert WeightsInbox(tmp_path / "none").newer() is None
    assert list(tmp_path.iterdir()) == []


def test_who_stops_asking_is_forgotten(tmp_path: Path) -> None:
    outbox = WeightsOutbox(tmp_path)
    WeightsInbox(tmp_path).newer()
    long_ago = time.time() - 2 * FRESH_SECONDS
    os.utime(tmp_path / WANTED, (long_ago, long_ago))
    assert not outbox.is_wanted()
