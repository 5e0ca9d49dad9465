"""The engine `ray`: finds machines, sends outposts, gathers what they tell, and keeps the learner alive."""

import math
import queue
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from typing import Any

from hogwild.engines.crew import Carried, Crew
from hogwild.engines.engine import WorkerStatus
from hogwild.engines.member import WINDOW
from hogwild.engines.processes import ProcessEngine
from hogwild.engines.ray.cluster import Cluster
from hogwild.engines.ray.forwarding import Screens, place_capsules
from hogwild.engines.ray.intake import Intake, Publisher
from hogwild.engines.ray.outpost import Order
from hogwild.engines.ray.parcel import Parcel
from hogwild.engines.ray.station import FINISH_SECONDS, Gone, Machine, Station
from hogwild.engines.ray.travelling import modules_of
from hogwild.errors import WorkerDied
from hogwild.exchanges.make import pooled
from hogwild.faults.events import Event
from hogwild.machine import devices_here
from hogwild.report import Report

LOOK_SECONDS = 1.0  # between two looks at which machines there are
LEAVE_SECONDS = 2.0  # that all threads have to end before what they use is taken away
LONELY_SECONDS = 10.0  # without a machine before that is said
MOST_LOGGED = 20_000_000  # characters that are kept of what one machine prints
METER_SECONDS = 2.0  # between two reports of how fast machines are


class RayEngine:
    """Runs workers on all machines of a cluster, and the learner in a process of its own on this one."""

    def __init__(self, crew: Crew) -> None:
        self.crew = crew
        settings = pooled(crew.settings).update(device=devices_here(crew.settings.execution.device))
        self.home = ProcessEngine(replace(crew, settings=settings, roles=("server",)))
        self.statuses = self.home.statuses
        self.folder = crew.keeper.folder if crew.keeper is not None else None
        self.screens = Screens(self.folder / "live", crew.shared.spec) if self.folder is not None else None
        self.cluster: Cluster | None = None
        self.stations: dict[str, Station] = {}  # by machine
        self.finished: list[WorkerStatus] = []  # of machines that have handed over their last parcel
        self.unfit: set[str] = set()  # machines that cannot take part
        self.deaths: defaultdict[str, list[float]] = defaultdict(list)
        self.news: queue.SimpleQueue[tuple[Station, str, Any]] = queue.SimpleQueue()
        self.machines: list[Machine] = []
        self.seen = threading.Event()  # whether anybody has looked which machines there are
        self.stopping = threading.Event()
        self.outposts = 0  # sent so far
        self.lonely = time.monotonic()  # since when there has been nobody
        self.carried_by_rank: dict[int, Carried] = dict(enumerate(crew.carried))
        self.metered, self.meters = time.monotonic(), dict[str, tuple[int, int, int]]()

    def _everybody(self) -> list[WorkerStatus]:
        """Everybody, wherever they are."""
        workers = [status for station in self.stations.values() for status in station.statuses] + self.finished
        return sorted(workers, key=lambda status: status.rank) + self.home.statuses

    def start(self) -> None:
        """Connect, and start the learner; machines are looked for from now on."""
        settings = self.crew.settings
        self.cluster = Cluster(settings.execution.address, modules_of(settings))
        self.home.start()
        assert self.home.lock is not None
        self.intake = Intake(self.crew.shared, self.home.lock, settings.environment.normalise_steps)
        self.publisher = Publisher(self.crew.shared, self.home.lock)
        threading.Thread(target=self._look_around, name="look around", daemon=True).start()

    def _look_around(self) -> None:
        """Keep the list of machines; in a thread of its own, since who is asked may be gone."""
        cluster = self.cluster
        assert cluster is not None
        while not self.stopping.wait(LOOK_SECONDS if self.seen.is_set() else 0.0):
            with suppress(Exception):  # it will be asked again
                self.machines = cluster.machines()
                self.seen.set()

    def poll(self, seconds: float) -> list[Report]:
        """Wait for news from all machines."""
        reports = self.home.poll(0.0)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                reports += self._hear(*self.news.get(timeout=left))
            except queue.Empty:
                break
        if not self.stopping.is_set():
            self._send_outposts()
            reports += self._meter() + self._nobody_yet()
        self.statuses = self._everybody()
        return reports

    def _nobody_yet(self) -> list[Report]:
        """Say once that there is nobody to train with."""
        if self.stations or not self.seen.is_set() or time.monotonic() - self.lonely < LONELY_SECONDS:
            if self.stations:
                self.lonely = time.monotonic()
            return []
        self.lonely = math.inf
        words = "No machine has a free core. Training waits for one."
        return [Report(-1, events=[Event("nobody", "cluster", words)])]

    def _send_outposts(self) -> None:
        """Send one to every machine that has free cores and none yet."""
        wanted = self.crew.settings.execution.workers
        for machine in self.machines:
            count = min(machine.free, wanted or machine.free)
            if count and machine.id not in self.stations and machine.id not in self.unfit:
                self._send(machine, count)

    def _send(self, machine: Machine, count: int) -> None:
        taken = {status.rank for station in self.stations.values() for status in station.statuses}
        ranks = tuple(rank for rank in range(len(taken) + count) if rank not in taken)[:count]
        order = Order(
            self.crew.settings,
            self.crew.shared.spec,
            machine.name,
            ranks,
            self.crew.incarnation + 1_000 * self.outposts,
            tuple(self.carried_by_rank.get(rank, []) for rank in ranks),
            self.crew.onlookers,
            self.folder if machine.is_here else None,
        )
        assert self.cluster is not None
        self.outposts += 1
        station = Station(machine, order, self.cluster, lambda s, kind, what: self.news.put((s, kind, what)))
        self.stations[machine.id] = station
        station.serve(self.intake, self.publisher, None if machine.is_here else self.screens)

    def _hear(self, station: Station, kind: str, content: Any) -> list[Report]:
        name = f"machine {station.machine.name}"
        if kind == "parcel":
            return self._open(content)
        if kind in ("gone", "unfit", "done"):
            self._lose(station, kind, content)
        words = {
            "joined": f"Machine {station.machine.name} takes part with {self._workers(station)}.",
            "slow": f"Machine {station.machine.name} has not begun yet: it waits for cores, or installs packages.",
            "silent": f"Machine {station.machine.name} does not answer. Training goes on without it.",
            "back": f"Machine {station.machine.name} answers again; what it sent meanwhile is not learned from.",
            "gone": f"Machine {station.machine.name} is lost: {_sentence(content)} What was on its way is dropped.",
            "unfit": f"Machine {station.machine.name} takes no part: {_sentence(content)}",
        }
        details = getattr(content, "details", "")
        return [Report(-1, events=[Event(kind, name, words[kind], details)])] if kind in words else []

    def _workers(self, station: Station) -> str:
        count, wanted = len(station.order.ranks), self.crew.settings.execution.workers
        words = f"{count} worker{'s' * (count > 1)}"
        return words if count >= wanted else f"{words}, since it has no more free cores ({wanted} were asked for)"

    def _open(self, parcel: Parcel) -> list[Report]:
        for status, carried in zip(parcel.statuses, parcel.carried, strict=False):
            self.carried_by_rank[status.rank] = carried
        if self.folder is not None and self.screens is not None:
            if parcel.capsules:
                place_capsules(self.folder / "capsules", parcel.capsules, parcel.reports)
            self.screens.show(parcel.moments)
            if parcel.log:
                self._keep_log(parcel)
        return parcel.reports

    def _keep_log(self, parcel: Parcel) -> None:
        """What workers elsewhere print, in a file for each machine."""
        assert self.folder is not None
        path = self.folder / "logs" / f"{parcel.statuses[0].machine}.txt"
        with suppress(OSError):
            path.parent.mkdir(exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                if file.tell() < MOST_LOGGED:
                    is_last = file.tell() + len(parcel.log) >= MOST_LOGGED
                    file.write(parcel.log + "\n(what is printed from here on is not kept)\n" * is_last)

    def _lose(self, station: Station, kind: str, why: Gone) -> None:
        """An outpost has ended; its machine is given another, unless it never can have one or loses too many."""
        machine = station.machine
        self.stations.pop(machine.id, None)
        self.meters.pop(machine.id, None)
        if kind == "done":
            self.finished += station.statuses
            return
        now = time.monotonic()
        self.deaths[machine.id] = [death for death in self.deaths[machine.id] if now - death < WINDOW] + [now]
        if kind == "unfit" or len(self.deaths[machine.id]) >= self.crew.settings.execution.max_deaths:
            self.unfit.add(machine.id)
            possible = [each for each in self.machines if each.cores and each.id not in self.unfit]
            if not self.stopping.is_set() and not possible and not self.stations:
                raise WorkerDied(f"No machine can take part. {machine.name}: {why}").with_details(why.details)

    def _meter(self) -> list[Report]:
        """How fast each machine is, and what it sends and fetches."""
        now = time.monotonic()
        if now - self.metered < METER_SECONDS or not self.outposts:
            return []
        report, passed, self.metered = Report(-1), now - self.metered, now
        report.take({"machines/count": float(sum(s.has_joined and not s.is_silent for s in self.stations.values()))})
        for station in self.stations.values():
            new = (station.counts.steps, station.bytes_in, station.bytes_out)
            old = self.meters.get(station.machine.id, (0, 0, 0))
            self.meters[station.machine.id] = new
            steps, received, sent = ((a - b) / passed for a, b in zip(new, old, strict=True))
            name = f"machines/{station.machine.name}"
            report.take({f"{name}/steps_per_second": steps, f"{name}/received": received / 1e6})
            report.take({f"{name}/sent": sent / 1e6})
        return [report]

    def stop(self) -> list[Report]:
        """Ask all machines for their last parcels, and let the learner learn from them."""
        self.stopping.set()
        for station in self.stations.values():
            station.stopping.set()
        reports: list[Report] = []
        end = time.monotonic() + 2 * FINISH_SECONDS
        while self.stations and time.monotonic() < end:
            reports += self.poll(0.1)
        reports += self.home.stop()
        self.statuses = self._everybody()
        self.kill()
        return reports

    def kill(self) -> None:
        """End everybody at once."""
        self.stopping.set()
        for station in self.stations.values():
            station.leaving.set()
            station.stopping.set()
        end = time.monotonic() + LEAVE_SECONDS
        for station in self.stations.values():
            station.join(max(0.0, end - time.monotonic()))
        self.home.kill()
        if self.cluster is not None:
            self.cluster.close()
            self.cluster = None

    def save(self) -> None:
        """Workers that run by themselves cannot be saved in mid-game."""
        return

    def load(self, saved: dict[str, Any]) -> None:
        """Nothing to load: games start anew."""

    def carried(self) -> list[Carried]:
        """What the preprocessing of each worker has learned, as it last said."""
        return [self.carried_by_rank.get(rank, []) for rank in range(max(self.carried_by_rank, default=-1) + 1)]


def _sentence(why: Any) -> str:
    return f"{str(why).rstrip('.')}."
