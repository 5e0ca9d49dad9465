"""Errors for misspelt names that say what was probably meant."""

import difflib
from collections.abc import Iterable

from hogwild.errors import UsageError


def unknown(kind: str, name: str, known: Iterable[str], hint: str = "") -> UsageError:
    """The error for a name that is not among the known ones, with the nearest of them.

    >>> print(unknown("game", "pnog", ["pong", "qbert"]))
    There is no game 'pnog'; did you mean 'pong'?
    """
    by_lower = {k.lower(): k for k in known}
    near = [by_lower[k] for k in difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)]
    if near:
        meant = " or ".join(f"'{n}'" for n in near)
        return UsageError(f"There is no {kind} '{name}'; did you mean {meant}?")
    listing = hint or (f"Known: {', '.join(sorted(by_lower.values()))}." if len(by_lower) <= 30 else "")
    return UsageError(f"There is no {kind} '{name}'. {listing}".rstrip())
