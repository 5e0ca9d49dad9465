"""What happened to a run that is worth a line in its log: deaths, replacements, lost episodes."""

from dataclasses import dataclass

LOST = "episode-lost"


@dataclass(frozen=True)
class Event:
    """Something that a run survived."""

    kind: str  # died, hung, recycled, episode-lost, outside-space, not-finite, rolled-back; of machines: joined, slow,
    # silent, back, gone, unfit, nobody
    who: str  # worker 3
    words: str  # for the user, one sentence
    details: str = ""  # for the log, such as a traceback
    capsule: str = ""  # file with what led to it


def episode_lost(who: str, what: str, details: str, capsule: str) -> Event:
    """An environment has failed, and another takes its place.

    >>> episode_lost("worker 1", "It broke.", "", "").kind
    'episode-lost'
    """
    words = f"{what} ({who}). The episode is lost, and its environment made anew."
    return Event(LOST, who, words, details, capsule)


def outside_space(who: str, what: str, details: str, capsule: str) -> Event:
    """An environment has answered what its own space does not allow.

    >>> outside_space("worker 1", "It is 3.", "", "").kind
    'outside-space'
    """
    return Event("outside-space", who, f"{what} ({who}). It is learned from as it is.", details, capsule)
