"""What runs inside a participant's process."""

import contextlib
import os
import random
import signal
import threading
import traceback
from collections.abc import Mapping
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait

import numpy as np
import torch

from hogwild.engines.crew import Crew
from hogwild.exchanges.file_lock import FileLock
from hogwild.worker import worker_seeds


def participant_main(crew: Crew, rank: int, lock: FileLock, pipe: Connection, environment: Mapping[str, str]) -> None:
    """Work until told to stop; whatever goes wrong is told to the coordinator before ending.

    What this process branched off from may be older than the coordinator's `environment` variables.
    """
    os.environ.clear()
    os.environ.update(environment)
    for number in (signal.SIGINT, signal.SIGTERM):  # the coordinator decides when to stop
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        from hogwild.engines.participant import take_part

        seed_everything(worker_seeds(crew.settings.execution.seed, rank, crew.incarnation, 1)[0])
        take_part(crew, rank, lock, lambda kind, content: pipe.send((kind, content)))
    except (BrokenPipeError, ConnectionResetError):
        os._exit(1)  # nobody is listening any more
    except BaseException as error:
        with contextlib.suppress(OSError):
            pipe.send(("error", (type(error).__name__, str(error), traceback.format_exc())))
        os._exit(1)


def seed_everything(seed: int) -> None:
    """Seed what environments should not draw from, and some do: processes with a common origin would draw alike."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
