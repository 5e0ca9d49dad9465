"""How one machine is asked: what happens when it is silent, comes back, is gone, or cannot take part."""

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from hogwild.engines.engine import WorkerStatus
from hogwild.engines.ray import station as module
from hogwild.engines.ray.intake import Publisher
from hogwild.engines.ray.outpost import Order
from hogwild.engines.ray.parcel import Counts, Offer, Parcel
from hogwild.engines.ray.station import Gone, Machine, Station, Unanswered, Unfit
from hogwild.engines.ray.travelling import versions_here
from hogwild.exchanges.shared import VERSION
from hogwild.resolve import layer, resolve
from hogwild.session import Session


class Known:
    """An answer that is there already."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def wait(self, seconds: float) -> Any:
        return self.answer


class Scripted:
    """A machine that answers what a test tells it to."""

    def __init__(self) -> None:
        self.answers: queue.Queue[Any] = queue.Queue()
        self.asked: list[Offer] = []
        self.killed = False
        self.last: Any = Parcel(counts=Counts(99))

    def ask(self, method: str, *arguments: Any) -> "Scripted":
        if method == "finish":
            self.answers.put(self.last)
        else:
            self.asked.append(arguments[0])
        return self

    def wait(self, seconds: float) -> Any:
        try:
            found = self.answers.get(timeout=seconds)
        except queue.Empty:
            return None
        if isinstance(found, Exception):
            raise found
        return found

    def kill(self) -> None:
        self.killed = True


class Counting:
    """An intake that only remembers."""

    def __init__(self) -> None:
        self.taken: list[tuple[int, int]] = []  # steps in all so far, and the oldest version that is learned from
        self.new = 0

    def take(self, parcel: Parcel, new: Counts, stopped: Callable[[], bool], oldest: int = 0) -> None:
        self.taken.append((parcel.counts.steps, oldest))
        self.new += new.steps


class Bench:
    """A station with a scripted machine."""

    def __init__(self) -> None:
        resolved = resolve(layer("CartPole-v1", engine="ray"))
        session = Session(resolved)
        self.there = versions_here()
        self.machine, self.intake, self.news = Scripted(), Counting(), list[tuple[str, Any]]()
        order = Order(resolved.settings, resolved.spec, "n1", (0,), 0)
        self.station = Station(
            Machine("id", "n1", 1, 1), order, self, lambda _, kind, what: self.news.append((kind, str(what)))
        )
        self.publisher = Publisher(session.shared, threading.Lock())

    def versions(self, machine: Machine) -> Known:
        return Known(self.there)

    def send(self, machine: Machine, order: Order, there: dict[str, str]) -> Scripted:
        return self.machine

    def start(self) -> None:
        self.station.serve(self.intake, self.publisher, None)  # type: ignore[arg-type]

    def parcel(self, steps: int) -> Parcel:
        return Parcel(counts=Counts(steps), statuses=[WorkerStatus(0, "playing", pid=1)])

    def learn(self) -> None:
        self.publisher.shared.counters[VERSION] += 1

    def until(self, kind: str) -> None:
        end = time.monotonic() + 10.0
        while kind not in self.kinds() and time.monotonic() < end:
            time.sleep(0.01)
        assert kind in self.kinds(), self.news

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.news if kind != "parcel"]

    def end(self) -> None:
        """End the run; the machine answers what is still open."""
        self.station.stopping.set()
        if not self.station.is_silent:
            self.machine.answers.put(self.parcel(98))
        self.station.join(10.0)
        assert not self.station.is_alive()


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(module, "SILENCE", 1.5)
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.05)
    return Bench()


def test_parcels_are_taken_in_their_order_and_the_last_ones_before_the_end(bench: Bench) -> None:
    bench.start()
    for number in (1, 2, 3):
        bench.machine.answers.put(bench.parcel(number))
    bench.until("joined")
    time.sleep(0.2)
    bench.end()
    assert [number for number, _ in bench.intake.taken] == [1, 2, 3, 98, 99]
    assert bench.machine.killed
    assert bench.kinds() == ["joined", "done"]


def test_only_one_question_is_open_at_a_time(bench: Bench) -> None:
    bench.start()
    bench.machine.answers.put(bench.parcel(1))
    bench.until("joined")
    time.sleep(0.2)
    assert len(bench.machine.asked) == 2
    bench.machine.answers.put(bench.parcel(2))
    time.sleep(0.2)
    assert len(bench.machine.asked) == 3
    bench.end()


def test_a_silent_machine_is_said_and_what_it_sends_afterwards_is_not_learned_from(bench: Bench) -> None:
    bench.start()
    bench.machine.answers.put(bench.parcel(1))
    bench.until("silent")
    assert [status.state for status in bench.station.statuses] == ["silent"]
    bench.learn()
    bench.learn()
    bench.machine.answers.put(bench.parcel(2))
    bench.machine.answers.put(bench.parcel(3))
    bench.until("back")
    time.sleep(0.2)
    bench.end()
    assert bench.intake.taken[:3] == [(1, 0), (2, 1), (3, 1)]  # only what newer weights have played counts from now on
    assert bench.kinds() == ["joined", "silent", "back", "done"]


def test_where_nobody_has_learned_meanwhile_what_comes_after_a_silence_is_learned_from(bench: Bench) -> None:
    bench.learn()
    bench.start()
    bench.machine.answers.put(bench.parcel(1))
    bench.until("silent")
    bench.machine.answers.put(bench.parcel(2))
    bench.until("back")
    time.sleep(0.2)
    bench.end()
    assert bench.intake.taken[:2] == [(1, 0), (2, 1)]  # what the weights of version 1 have played is as new as can be


def test_a_machine_that_takes_long_to_begin_is_not_missed_and_joins_with_its_first_parcel(bench: Bench) -> None:
    bench.start()
    time.sleep(0.5)
    assert bench.kinds() == []
    bench.machine.answers.put(bench.parcel(1))
    bench.until("joined")
    bench.end()
    assert bench.kinds() == ["joined", "done"]


def test_what_was_counted_in_a_parcel_that_was_lost_is_counted_with_the_next(bench: Bench) -> None:
    bench.start()
    bench.machine.answers.put(bench.parcel(10))
    bench.machine.answers.put(Unanswered("connection reset"))
    bench.machine.answers.put(bench.parcel(30))
    bench.until("back")
    bench.end()
    assert bench.intake.new == 99


def test_a_lost_question_is_said_at_once_and_another_asked_with_all_weights(bench: Bench) -> None:
    bench.start()
    bench.machine.answers.put(bench.parcel(1))
    bench.machine.answers.put(Unanswered("connection reset"))
    bench.machine.answers.put(Unanswered("connection reset"))
    bench.until("silent")
    bench.learn()
    bench.machine.answers.put(bench.parcel(2))
    bench.until("back")
    time.sleep(0.2)
    first, second, third, fourth = bench.machine.asked[:4]
    assert first.weights is not None
    assert second.weights is None  # nothing new since
    assert third.weights is not None
    assert fourth.weights is not None
    bench.end()
    assert bench.intake.taken[:2] == [(1, 0), (2, 1)]
    assert bench.kinds() == ["joined", "silent", "back", "done"]
    assert bench.station.bytes_out == 2 * bench.publisher.shared.weights.nbytes  # what arrived, not what was lost


@pytest.mark.parametrize(("error", "kind"), [(Gone("its node died"), "gone"), (Unfit("no torch there"), "unfit")])
def test_a_machine_that_ends_is_said_with_its_reason(bench: Bench, error: Exception, kind: str) -> None:
    bench.start()
    bench.machine.answers.put(bench.parcel(1))
    bench.machine.answers.put(error)
    bench.until(kind)
    bench.station.join(5.0)
    assert (kind, str(error)) in bench.news
    assert bench.machine.killed


def test_a_machine_with_other_versions_is_refused_before_it_plays(bench: Bench) -> None:
    bench.there |= {"torch": "1.0"}
    bench.start()
    bench.until("unfit")
    bench.station.join(5.0)
    assert not bench.machine.asked
    assert any("it has torch 1.0, and the learner" in words for _, words in bench.news)


def test_a_machine_that_gives_up_says_why(bench: Bench) -> None:
    bench.start()
    parcel = bench.parcel(1)
    parcel.error = ("Environment 'X' cannot be made.", "traceback")
    bench.machine.answers.put(parcel)
    bench.until("unfit")
    assert ("unfit", "Environment 'X' cannot be made.") in bench.news


def test_a_run_that_ends_does_not_wait_for_a_silent_machine(bench: Bench) -> None:
    bench.start()
    bench.machine.answers.put(bench.parcel(1))
    bench.until("silent")
    began = time.monotonic()
    bench.end()
    assert time.monotonic() - began < 5.0


def test_a_run_that_ends_does_not_wait_for_a_machine_that_cannot_be_reached(bench: Bench) -> None:
    bench.start()
    bench.machine.answers.put(bench.parcel(1))
    bench.until("joined")
    bench.station.stopping.set()
    bench.machine.answers.put(Unanswered("connection reset"))
    bench.station.join(5.0)
    assert not bench.station.is_alive()
    assert bench.kinds() == ["joined", "done"]
