"""What can go wrong, by name. Each error carries the exit code that the command line ends with."""

import signal
from typing import Self


class HogwildError(Exception):
    """Something the user can understand and mend; shown as one message, without a traceback."""

    exit_code = 1
    details = ""  # for the log: where it happened

    def with_details(self, details: str) -> Self:
        """The same error with details for the log."""
        self.details = details
        return self


class UsageError(HogwildError):
    """The request itself is wrong: an unknown name, a value out of range, settings that contradict each other."""

    exit_code = 2


class EnvironmentFailed(HogwildError):
    """An environment could not be made, or raised in `reset` or `step`."""

    exit_code = 3


class NothingButFaults(EnvironmentFailed):
    """Environments lose one episode after the other: nothing can be learned from them."""


class WorkerDied(HogwildError):
    """A worker ended without being asked to."""

    exit_code = 4


class RunFolderError(HogwildError):
    """The run folder cannot be read or written."""

    exit_code = 5


class NotFinite(HogwildError):
    """A gradient or weight is no number any more: training cannot go on from here."""

    exit_code = 6


class CheckpointError(RunFolderError):
    """A checkpoint is missing, damaged, or does not fit."""


class NewerFormat(CheckpointError):
    """A checkpoint was made by a newer Hogwild."""


def exit_words(code: int | None) -> str:
    """How a process ended, in words.

    >>> exit_words(-11), exit_words(3)
    ('killed by SIGSEGV', 'exit code 3')
    """
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"killed by {name}" + (", perhaps because memory ran out" if name == "SIGKILL" else "")
