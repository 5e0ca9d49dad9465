"""All that is known of Ray: connecting, which machines there are, and outposts as its actors."""

import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hogwild.engines.ray.outpost import Order, Outpost
from hogwild.engines.ray.parcel import Offer, Parcel
from hogwild.engines.ray.reaching import ADVICE, import_ray
from hogwild.engines.ray.station import Gone, Machine, Unanswered, Unfit
from hogwild.engines.ray.travelling import modules_to_send, versions_here
from hogwild.errors import HogwildError, UsageError
from hogwild.machine import available_cores
from hogwild.signals import WATCHED

# A machine that says nothing is given up after a few seconds instead of a minute.
HEALTH = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 3,
    # A broken connection is told at once. Ray would first wait one to two seconds for the reason.
    "timeout_ms_task_wait_for_death_info": 0,
}
OWN = HEALTH | {"worker_niceness": 0}  # workers are what a Ray of our own is there for
OBJECT_STORE = 512 * 1024**2  # bytes, of a Ray of our own: a few parcels and versions of weights


class Cluster:
    """A connection to Ray: to a cluster that is there, or to one of our own on this machine."""

    def __init__(self, address: str, own_modules: list[str]) -> None:
        address = address or os.environ.get("RAY_ADDRESS", "")
        self.is_own = not address
        self.ray = import_ray(address)
        self.folder = ""
        with _our_signals():
            if self.is_own:
                self._start()
            else:
                self._join(address, own_modules)
        self.here = self.ray.get_runtime_context().get_node_id()

    def _join(self, address: str, own_modules: list[str]) -> None:
        try:
            self.ray.init(
                address,
                log_to_driver=False,
                logging_level="error",
                runtime_env={"py_modules": modules_to_send(own_modules)},
            )
        except (ConnectionError, RuntimeError, ValueError, self.ray.exceptions.RayError) as error:
            if "mismatch" in str(error):  # of the versions of Ray and Python, which it names on several lines
                raise UsageError(f"--address {address}: {' '.join(str(error).split())}") from error
            words = str(error).strip().splitlines()[0].rstrip(".")
            raise UsageError(f"--address {address}: no Ray answers there: {words}. {ADVICE}") from error

    def _start(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="hogwild-", dir="/tmp")  # names of sockets must be short
        try:
            self.ray.init(
                num_cpus=available_cores(),
                include_dashboard=False,
                log_to_driver=False,
                logging_level="error",
                object_store_memory=OBJECT_STORE,
                _temp_dir=self.folder,
                _system_config=OWN,
            )
        except (OSError, RuntimeError, ValueError, self.ray.exceptions.RayError) as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise HogwildError(f"Ray does not start: {str(error).strip().splitlines()[0]}") from error

    def machines(self) -> list[Machine]:
        """The machines that are there, and what is free on them."""
        from ray._private.state import available_resources_per_node

        free, nodes = available_resources_per_node(), [node for node in self.ray.nodes() if node["Alive"]]
        hosts = [node["NodeManagerHostname"] for node in nodes]
        return [
            Machine(
                node["NodeID"],
                # Several may be called the same, as on one computer.
                node["NodeManagerHostname" if hosts.count(node["NodeManagerHostname"]) == 1 else "NodeManagerAddress"],
                int(node["Resources"].get("CPU", 0)),
                int(free.get(node["NodeID"], {}).get("CPU", 0)),
                int(free.get(node["NodeID"], {}).get("GPU", 0)),
                node["NodeID"] == self.here,
            )
            for node in nodes
        ]

    def send(self, machine: Machine, order: Order, there: dict[str, str]) -> "RayRemote":
        """Make an outpost on a machine; packages that it lacks are installed for it by Ray."""
        missing = [f"{name}=={version}" for name, version in versions_here().items() if name not in there]
        return RayRemote(self.ray, machine, order, {"pip": missing} if missing else {})

    def versions(self, machine: Machine) -> "RayAnswer | None":
        """Ask which versions a machine has of what we need; a Ray that we have started has ours."""
        if self.is_own:
            return None

        def look(names: list[str]) -> dict[str, str]:  # travels as it is: there is nothing of ours there yet
            import platform
            from importlib.metadata import PackageNotFoundError, version

            found = {"python": platform.python_version()}
            for name in names:
                try:
                    found[name] = version(name)
                except PackageNotFoundError:
                    continue
            return found

        task = self.ray.remote(look).options(num_cpus=0, scheduling_strategy=_only_on(self.ray, machine))
        return RayAnswer(self.ray, task.remote(list(versions_here())))

    def close(self) -> None:
        """End the connection, and Ray if it is ours."""
        with _our_signals():
            self.ray.shutdown()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def _our_signals() -> Iterator[None]:
    """Ray takes over SIGTERM when it starts; what Ctrl-C and the like do is ours to say."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in WATCHED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class OutpostActor:
    """An outpost as Ray runs it."""

    def __init__(self, order: Order) -> None:
        # Processes that are spawned here would else import Ray's own main module.
        vars(sys.modules["__main__"]).pop("__file__", None)
        tempfile.tempdir = _session_folder()  # what is left if somebody kills us goes with Ray's own files
        self.outpost = Outpost(order)
        self.outpost.printed.begin()

    def trade(self, offer: Offer) -> Parcel:
        """Take new weights, if there are any, and hand over what there is."""
        return self.outpost.trade(offer)

    def finish(self) -> Parcel:
        """Hand over the last of it, and leave nothing behind."""
        parcel = self.outpost.finish()
        self.outpost.close()
        return parcel


def _session_folder() -> str:
    from ray._private.worker import _global_node

    return str(_global_node.get_session_dir_path())


class RayAnswer:
    """A question to another machine.

    It is waited for by a future: a `ray.get` that runs out of time gives up what has already arrived, so that a large
    answer on a slow line would never be there.
    """

    def __init__(self, ray: Any, reference: Any) -> None:
        self.errors, self.future = ray.exceptions, reference.future()

    def wait(self, seconds: float) -> Any:
        """The answer, if it comes in time."""
        try:
            return self.future.result(timeout=seconds)
        except TimeoutError:
            if not self.future.done():
                return None
            raise Gone("it ran out of time") from None  # whoever was asked, and not we
        except (self.errors.RuntimeEnvSetupError, self.errors.ActorUnschedulableError) as error:
            raise Unfit(_words(error), str(error)) from error
        except self.errors.RayTaskError as error:
            cause = getattr(error, "cause", None) or error
            by_chance = isinstance(cause, self.errors.RayError | OSError) and cause is not error
            raise (Gone if by_chance else Unfit)(_words(cause), str(error)) from error
        except self.errors.ActorUnavailableError as error:
            raise Unanswered(_words(error), str(error)) from error
        except self.errors.RayError as error:
            raise Gone(_words(error), str(error)) from error


def _words(error: Any) -> str:
    """What an error says first; of an actor that failed while it was made, what it says last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[-1] if "creation task" in lines[0] else lines[0]


def _only_on(ray: Any, machine: Machine) -> Any:
    return ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(machine.id, soft=False)


class RayRemote:
    """An outpost on another machine, by its handle. No question is asked twice: what is lost is lost."""

    def __init__(self, ray: Any, machine: Machine, order: Order, environment: dict[str, Any]) -> None:
        """`environment` is what Ray has to prepare for it."""
        self.ray = ray
        self.actor = (
            ray.remote(OutpostActor)
            .options(
                num_cpus=len(order.ranks),
                num_gpus=machine.gpus if any(d != "cpu" for d in order.settings.execution.device) else 0,
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy=_only_on(ray, machine),
                runtime_env=environment,
            )
            .remote(order)
        )

    def ask(self, method: str, *arguments: Any) -> RayAnswer:
        """Ask it to do something and to answer."""
        return RayAnswer(self.ray, getattr(self.actor, method).remote(*arguments))

    def kill(self) -> None:
        """End it at once."""
        with suppress(Exception):  # the connection may be gone already
            self.ray.kill(self.actor)
