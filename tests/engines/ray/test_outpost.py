"""The workers of one machine: what they hand over, what they are told, and what becomes of their files."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hogwild.engines.ray.forwarding import Printed, Screens, place_capsules
from hogwild.engines.ray.intake import Publisher
from hogwild.engines.ray.outpost import Order, Outpost
from hogwild.engines.ray.parcel import Offer, Parcel
from hogwild.exchanges.shared import STEPS, VERSION
from hogwild.live.mailbox import Inbox
from hogwild.onlookers import Onlookers
from hogwild.resolve import layer, resolve
from hogwild.session import Session
from tests.reliability.fault_env import ID


class Home:
    """A learner that only gathers, and the outpost that it asks."""

    def __init__(self, env: str, folder: Path, **changes: Any) -> None:
        self.resolved = resolve(layer(env, engine="ray", **{"envs": 2, "rollout_steps": 8, **changes}))
        self.session = Session(self.resolved)
        self.publisher = Publisher(self.session.shared, threading.Lock())
        self.known: Offer | None = None
        onlookers = Onlookers(folder, 0)
        self.outpost = Outpost(Order(self.resolved.settings, self.resolved.spec, "n1", (3, 7), 0, (), onlookers))

    def trade(self, watched: tuple[int, ...] = ()) -> Parcel:
        self.known = self.publisher.offer(self.known, watched)
        return self.outpost.trade(self.known)

    def until(self, holds: Callable[[Parcel], bool], watched: tuple[int, ...] = ()) -> list[Parcel]:
        parcels, end = [], time.monotonic() + 60
        while time.monotonic() < end:
            parcels.append(self.trade(watched))
            if holds(parcels[-1]):
                return parcels
        raise AssertionError(f"not within a minute: {parcels[-1]}")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Callable[..., Home]]:
    made: list[Home] = []

    def make(env: str = "CartPole-v1", **changes: Any) -> Home:
        made.append(Home(env, tmp_path, **changes))
        return made[-1]

    yield make
    for each in made:
        each.outpost.close()


def test_every_step_that_was_played_is_counted_once_and_every_rollout_arrives(home: Callable[..., Home]) -> None:
    learner = home(exchange="trajectories")
    parcels = learner.until(lambda parcel: all(status.steps > 200 for status in parcel.statuses))
    parcels.append(learner.outpost.finish())
    rollouts = [goods for parcel in parcels for goods in parcel.goods]
    assert parcels[-1].counts.steps == 16 * len(rollouts) > 0
    assert [parcel.counts for parcel in parcels] == sorted(parcel.counts for parcel in parcels)
    reported = sum(report.steps for parcel in parcels for report in parcel.reports)
    assert reported == 16 * len(rollouts)
    assert {report.worker for parcel in parcels for report in parcel.reports} == {3, 7}  # their ranks among all
    assert {status.machine for status in parcels[-1].statuses} == {"n1"}


def test_gradients_of_all_workers_leave_together_and_weights_come_back(home: Callable[..., Home]) -> None:
    learner = home(exchange="gradients", objective="a3c")
    shared = learner.session.shared
    learner.until(lambda parcel: bool(parcel.goods))
    shared.weights += 0.25
    shared.counters[VERSION], shared.counters[STEPS] = 5, 5000
    parcels = learner.until(lambda parcel: any(5 in goods.versions for goods in parcel.goods))
    np.testing.assert_array_equal(learner.outpost.shared.weights.numpy(), shared.weights.numpy())
    assert all(len(parcel.goods) <= 1 for parcel in parcels)
    assert learner.outpost.shared.counter(STEPS) >= 5000  # schedules follow the steps of all machines


def test_means_of_inputs_are_made_by_the_learner_alone(home: Callable[..., Home]) -> None:
    learner = home(exchange="trajectories", normalise="running", normalise_steps=32)
    first = learner.until(lambda parcel: parcel.inputs is not None)[-1]
    assert first.inputs is not None
    assert first.inputs.count == first.counts.steps > 0
    assert not first.goods  # nothing is learned from before the means are known
    learner.until(lambda parcel: parcel.inputs is not None)
    views = dict(learner.outpost.shared.layout.views(learner.outpost.shared.weights))
    assert all(not view.any() for name, view in views.items() if name.endswith(".mean"))


def test_a_capsule_reaches_the_folder_of_the_run(
    home: Callable[..., Home], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"FAULT": "step-raises", "FAULT_WHO": "anybody", "FAULT_CHANCE": "0.01"}.items():
        monkeypatch.setenv(name, value)
    learner = home(ID, exchange="trajectories")
    parcel = learner.until(lambda parcel: bool(parcel.capsules))[-1]
    there = [event.capsule for report in parcel.reports for event in report.events if event.capsule]
    assert there
    assert not there[0].startswith(str(tmp_path))
    place_capsules(tmp_path / "capsules", parcel.capsules, parcel.reports)
    here = [event.capsule for report in parcel.reports for event in report.events if event.capsule]
    assert json.loads(Path(here[0]).read_text())["env"] == ID
    assert Path(here[0]).parent == tmp_path / "capsules"


def test_a_machine_on_which_nothing_can_be_played_gives_up_in_words(home: Callable[..., Home]) -> None:
    learner = home(exchange="trajectories")
    learner.outpost.engine.crew.settings = learner.resolved.settings.update(env="no_such_module:Env-v0", workers=2)
    parcel = learner.until(lambda parcel: parcel.error is not None)[-1]
    assert parcel.error is not None
    assert "no_such_module" in parcel.error[0]
    assert learner.trade().error == parcel.error  # the answer before may be lost


def test_games_elsewhere_are_seen_in_the_folder_of_the_run(home: Callable[..., Home], tmp_path: Path) -> None:
    learner = home(exchange="trajectories")
    live = tmp_path / "live"
    live.mkdir()
    screens, viewer = Screens(live, learner.resolved.spec), Inbox(live, rank=7)
    assert screens.wanted((3, 7)) == ()
    viewer.look()
    assert screens.wanted((3, 7)) == (7,)
    seen: list[np.ndarray] = []
    end = time.monotonic() + 60
    while len(seen) < 3 and time.monotonic() < end:
        screens.show(learner.trade(screens.wanted((3, 7))).moments)
        viewer.touched = -10.0  # as after a second
        viewer.look()
        seen += viewer.moments()
    assert len(seen) >= 3
    assert all(np.isfinite(moment["observation"]).all() for moment in seen)


def test_what_is_printed_is_read_once_and_not_without_bound() -> None:
    printed = Printed()
    assert printed.read() == ""
    os.write(printed.file.fileno(), b"one\n")
    assert printed.read() == "one\n"
    assert printed.read() == ""
    os.lseek(printed.file.fileno(), 0, os.SEEK_SET)
    os.write(printed.file.fileno(), b"x" * 1_000_000 + b"end\n")
    text = printed.read()
    assert len(text) <= 64 * 1024
    assert text.endswith("end\n")
    printed.close()
    assert printed.read() == ""


def test_large_rollouts_leave_one_by_one_and_the_last_gradients_in_parts(home: Callable[..., Home]) -> None:
    wide = home(exchange="trajectories", envs=2048, rollout_steps=64, slots=4)  # 6 MB each
    assert wide.outpost.most == 2
    many = home(exchange="gradients", objective="a3c", accumulate=1000, slots=4)
    assert many.outpost.most == 1
