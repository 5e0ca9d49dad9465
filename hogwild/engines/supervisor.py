"""Who is replaced when somebody dies, hangs or has had too much; and when that is given up."""

import time

from hogwild.engines.crew import Crew
from hogwild.engines.member import Member, most_memory
from hogwild.faults.events import Event
from hogwild.report import Report

LATE_SECONDS = 2.0  # between two looks at the workers: we have been stopped, too
WEIGH_SECONDS = 5.0  # between two looks at their memory


class Supervisor:
    """Looks after the members of a crew."""

    def __init__(self, crew: Crew, members: list[Member]) -> None:
        self.crew = crew
        self.members = members
        self.is_stopping = False
        self.weighed = self.looked = time.monotonic()
        self.grace_until = 0.0

    def mourn(self, member: Member) -> list[Report]:
        """One has ended: at its time, or to be replaced, or as the end of the run, which is raised."""
        status, code = member.status, member.bury()
        if status.state == "stopped":
            return []
        error, now = member.cause(code), time.monotonic()
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
        kind = "hung" if member.why_killed else "died"
        event = Event(kind, member.who.lower(), f"{error} Another takes its place.", error.details, capsule)
        return [Report(status.rank, events=[event])]

    def look_after(self) -> list[Report]:
        """Start those who are due, and end those who hang or have had too much."""
        now = time.monotonic()
        if (
            now - self.looked > LATE_SECONDS
        ):  # whoever was stopped together with us has not had the time that has passed
            self.grace_until = now + LATE_SECONDS
        self.looked = now
        if self.is_stopping:
            return []
        pulse = self.crew.pulse
        for member in self.members:
            if member.restart_at is not None and now >= member.restart_at:
                member.start()
            elif member.pipe is not None and now > self.grace_until and pulse.is_late(member.place, now):
                member.kill(f"its environments did not answer within {pulse.seconds:g} s (--env-timeout)")
        if now - self.weighed < WEIGH_SECONDS:
            return []
        self.weighed = now
        return [report for member in self.members for report in self._recycle(member)]

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
