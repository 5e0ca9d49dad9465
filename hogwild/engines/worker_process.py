"""What runs inside a participant's process."""

import contextlib
import os
import random
import signal
import threading
import traceback
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait

import numpy as np
import torch

from hogwild.engines.crew import Crew
from hogwild.engines.spawning import end_children, let_children_be_started, print_into
from hogwild.exchanges.file_lock import FileLock
from hogwild.signals import WATCHED, die_with_parent


def participant_main(
    crew: Crew, place: int, restart: int, lock: FileLock, pipe: Connection, printing: Connection | None = None
) -> None:
    """Work until told to stop; whatever goes wrong is told to the coordinator before ending."""
    if printing is not None:
        print_into(printing)
    for number in WATCHED:  # the coordinator decides when to stop
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
    die_with_parent()
    let_children_be_started()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        from hogwild.engines.participant import take_part

        seed_process(crew.settings.execution.seed, crew.rank_of(place), crew.incarnation, restart)
        take_part(crew, place, lock, lambda kind, content: pipe.send((kind, content)), restart)
        end_children()
    except (BrokenPipeError, ConnectionResetError):
        os._exit(1)  # nobody is listening any more
    except BaseException as error:
        with contextlib.suppress(OSError):
            pipe.send(("error", (type(error).__name__, str(error), traceback.format_exc())))
        os._exit(1)


def seed_process(seed: int, rank: int, incarnation: int, restart: int) -> None:
    """Seed what all of a process shares: environments should not draw from it, but some do, and are repeatable then."""
    words = np.random.SeedSequence((seed, rank, incarnation, 1, *([restart] if restart else []))).generate_state(3)
    random.seed(int(words[0]))
    np.random.seed(words[1])
    torch.manual_seed(int(words[2]))


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
