"""Who is replaced when somebody dies, hangs or has had too much; and when that is given up."""

import time
from multiprocessing.connection import Connection, wait

from hogwild.engines.crew import Crew
from hogwild.engines.holding import holder_of, is_stopped
from hogwild.engines.member import Member, most_memory
from hogwild.exchanges.file_lock import FileLock
from hogwild.faults.events import Event
from hogwild.faults.pulse import Patience
from hogwild.report import Report

WEIGH_SECONDS = 5.0  # between two looks at their memory
PRINT_SECONDS = 0.01  # between two looks at what is printed, where there is nothing else: some print at every step
HOLD_SECONDS = 2.0  # that one who was stopped may keep what all others wait for


class Supervisor:
    """Looks after the members of a crew."""

    def __init__(self, crew: Crew, members: list[Member], lock: FileLock) -> None:
        self.crew = crew
        self.members = members
        self.lock = lock
        self.holder, self.held_since = 0, 0.0  # who was stopped with the lock in hand
        self.is_stopping = False
        self.weighed = time.monotonic()
        self.patience = Patience(self.weighed)

    def mourn(self, member: Member) -> list[Report]:
        """One has ended: at its time, or to be replaced, or as the end of the run, which is raised."""
        output = member.output
        printed = output.last_words() if output is not None else ""
        status, code = member.status, member.bury()
        if status.state == "stopped":
            return []
        error, now = member.cause(code), time.monotonic()
        if printed:
            error = error.with_details(f"{error.details}\nThe last that it printed:\n{printed}".lstrip())
        if self.is_stopping:
            raise error
        if not member.is_forgiven(error, now):
            often = f" It is not replaced again: {len(member.deaths)} deaths within a minute are too many."
            raise type(error)(f"{error}{often if len(member.deaths) > 1 else ''}").with_details(error.details)
        self.crew.shared.forget(is_server=status.role != "worker")
        member.plan_restart(now)
        keeper, capsule = self.crew.keeper, ""
        if keeper is not None and member.blames_environment(code):
            capsule = keeper.keep_all(status.rank, str(error), error.details)
        kind = "hung" if member.has_hung else "died"
        event = Event(kind, member.who.lower(), f"{error} Another takes its place.", error.details, capsule)
        notices = output.notices(member.who) if output is not None else []
        return [Report(status.rank, events=[event], notices=notices)]

    def listen(self, seconds: float) -> list[Member]:
        """Wait until somebody has something to say, or prints; answers who speaks, and who never will again."""
        pipes = [member.pipe for member in self.members if member.pipe is not None]
        ready = wait([*pipes, *self.printing()], timeout=seconds)
        heard = [member for member in self.members if member.pipe in ready or member.is_dead]
        if ready and not heard:
            time.sleep(PRINT_SECONDS)
        return heard

    def printing(self) -> list[Connection]:
        """Where members print."""
        return [m.output.pipe for m in self.members if m.output is not None and not m.output.is_over]

    def _take_output(self) -> list[Report]:
        """Keep what members have printed; that they do is said once."""
        reports = []
        for member in self.members:
            if member.output is not None:
                member.output.take()
                if said := member.output.notices(member.who):
                    reports.append(Report(member.status.rank, notices=said))
        return reports

    def look_after(self) -> list[Report]:
        """Start those who are due, end those who hang or have had too much, and keep what they print."""
        return self._take_output() + self._replace()

    def _replace(self) -> list[Report]:
        now, pulse = time.monotonic(), self.crew.pulse
        had_time = self.patience.is_over(now)
        if self.is_stopping:
            return []
        for member in self.members:
            if member.restart_at is not None and now >= member.restart_at:
                member.start()
            elif member.pipe is not None and had_time and pulse.is_late(member.place, now):
                member.kill(pulse.words(member.status.state), has_hung=True)
        if had_time:
            self._free_lock(now)
        if now - self.weighed < WEIGH_SECONDS:
            return []
        self.weighed = now
        return [report for member in self.members for report in self._recycle(member)]

    def _free_lock(self, now: float) -> None:
        """End one who was stopped while it had the lock: the others would wait until somebody lets it go on."""
        holder = holder_of(self.lock)
        if not holder or not is_stopped(holder):
            self.holder = 0
        elif holder != self.holder:
            self.holder, self.held_since = holder, now
        elif now - self.held_since > HOLD_SECONDS:
            for member in self.members:
                if member.status.pid == holder:
                    member.kill("it was stopped, and the others waited for what it held")

    def _recycle(self, member: Member) -> list[Report]:
        """Replace one whose environments leak."""
        limit = most_memory(self.crew.settings.execution.worker_memory, len(self.members))
        if member.pipe is None or member.status.state != "playing" or not (words := member.excess(limit)):
            return []
        member.kill()
        member.bury()
        member.plan_restart(time.monotonic())
        event = Event("recycled", member.who.lower(), f"{member.who} {words}. Another takes its place.")
        return [Report(member.status.rank, events=[event])]
