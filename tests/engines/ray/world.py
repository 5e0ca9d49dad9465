"""Several machines on one: network namespaces with addresses of their own, joined by a bridge.

`python -m tests.engines.ray.world NAME` plays a scenario of `scenarios.py` in namespaces that vanish with it, and
prints what it found as JSON. It needs no root, only `unshare` and `ip`. The first machine is the bridge, so that a
cable can be pulled without anybody being told.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

HERE = Path("/mnt")  # files of a world, which vanish with it; all its machines see them
HEAD, PORT = "10.77.0.1", 6379
NAMESPACES = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child"]
APART = ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]


def can_be_made() -> bool:
    """Whether this computer can hold such a world."""
    needed = shutil.which("unshare") and shutil.which("ip")
    probe = [*NAMESPACES, "--mount-proc", "ip", "link", "add", "hub", "type", "bridge"]
    return bool(needed) and subprocess.run(probe, capture_output=True, check=False).returncode == 0


def play(scenario: str, seconds: float = 550.0) -> Any:
    """Play a scenario in a world of its own; answers what it found."""
    words = [*NAMESPACES, "--mount-proc", sys.executable, "-m", "tests.engines.ray.world", scenario]
    done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def run(*words: object) -> str:
    """A command that must not fail."""
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout


def until(holds: Callable[[], Any], seconds: float = 60.0, what: str = "") -> float:
    """Wait for something; answers how long it took."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > seconds:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        time.sleep(0.05)
    return time.monotonic() - began


class Node:
    """A machine beside the first one."""

    def __init__(self, number: int, command: str) -> None:
        """`command` is what runs on it; `ADDRESS` in it is its address."""
        self.name, self.cable = f"n{number}", f"v{number}"
        address = f"10.77.0.{10 + number}"
        script = (
            f"hostname {self.name}; mount -t tmpfs none /dev/shm; mount -t tmpfs none /tmp/ray; ip link set lo up; "
            f"until ip link set p{number} up 2>/dev/null; do sleep 0.05; done; "
            f"ip addr add {address}/24 dev p{number}; exec {command.replace('ADDRESS', address)}"
        )
        self.log = open(HERE / f"{self.name}.log", "w")  # noqa: SIM115
        self.process = subprocess.Popen([*APART, "sh", "-c", script], stdout=self.log, stderr=self.log)
        here = os.readlink("/proc/self/ns/net")
        until(lambda: os.readlink(f"/proc/{self.process.pid}/ns/net") != here, 10.0, "a namespace")
        run("ip", "link", "add", self.cable, "type", "veth", "peer", "name", f"p{number}")
        run("ip", "link", "set", self.cable, "master", "hub", "up")
        run("ip", "link", "set", f"p{number}", "netns", self.process.pid)

    def kill(self) -> None:
        """The power fails."""
        self.process.kill()
        self.process.wait()

    def cut_off(self) -> None:
        """The cable is pulled; nobody is told."""
        run("ip", "link", "set", self.cable, "down")

    def heal(self) -> None:
        """The cable is put back."""
        run("ip", "link", "set", self.cable, "up")

    def slow_down(self, rate: str) -> None:
        """The line to this machine carries only so much."""
        limit = ("root", "tbf", "rate", rate, "burst", "64kb", "latency", "200ms")
        run("tc", "qdisc", "add", "dev", self.cable, *limit)
        there = ("nsenter", "--target", self.process.pid, "--net")
        run(*there, "tc", "qdisc", "add", "dev", self.cable.replace("v", "p"), *limit)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to everything on this machine."""
        for process in psutil.Process(self.process.pid).children(recursive=True):
            process.send_signal(number)


class World:
    """A first machine, on which this process runs, and others."""

    def __init__(self) -> None:
        for folder in ("/tmp/ray", "/dev/shm", str(HERE)):
            os.makedirs(folder, exist_ok=True)
            run("mount", "-t", "tmpfs", "none", folder)
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "hub", "type", "bridge")
        run("ip", "addr", "add", f"{HEAD}/24", "dev", "hub")
        run("ip", "link", "set", "hub", "up")
        self.folder = HERE
        os.environ["RAY_AUTH_TOKEN_PATH"] = str(self.folder / "token")
        self.nodes: list[Node] = []
        self.head: subprocess.Popen[bytes] | None = None

    def start_head(self, cores: int = 0) -> None:
        """Start the first machine's Ray."""
        words = [sys.executable, "-m", "hogwild", "node", "--head", "--host", HEAD, "--cores", str(cores)]
        with open(self.folder / "head.log", "w") as log:
            self.head = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        until(self._head_is_up, 60.0, "the first machine")

    @staticmethod
    def _head_is_up() -> bool:
        with socket.socket() as probe:
            probe.settimeout(0.2)
            return probe.connect_ex((HEAD, PORT)) == 0

    def kill_head(self) -> None:
        """The first machine's Ray is killed with all that belongs to it."""
        assert self.head is not None
        for process in [*psutil.Process(self.head.pid).children(recursive=True), psutil.Process(self.head.pid)]:
            process.kill()
        self.head.wait()

    def add(self, cores: int = 1, command: str = "") -> Node:
        """Another machine joins."""
        join = f"{sys.executable} -m hogwild node {HEAD}:{PORT} --host ADDRESS --cores {cores}"
        self.nodes.append(Node(len(self.nodes) + 1, command or join))
        return self.nodes[-1]

    def joined(self) -> int:
        """How many other machines are connected to the first."""
        lines = psutil.net_connections("tcp")
        return len({line.raddr.ip for line in lines if line.laddr.port == PORT and line.raddr} - {HEAD})

    def enter(self, node: Node) -> str:
        """The beginning of a command that runs on another machine."""
        until(lambda: psutil.Process(node.process.pid).children(), 10.0, node.name)
        init = psutil.Process(node.process.pid).children()[0].pid
        return f"nsenter --target {init} --net --mount --uts --pid --wd={os.getcwd()}"

    def train(self, *flags: object, command: str = "train CartPole-v1") -> "Training":
        """Train on all machines."""
        return Training(self.folder, [*command.split(), *map(str, flags)])


class Training:
    """A training whose coordinator runs on the first machine."""

    def __init__(self, folder: Path, words: list[str]) -> None:
        self.folder = folder / "runs" / "run"
        place = ["--runs", str(folder / "runs"), "--address", f"{HEAD}:{PORT}"]
        if words[0] == "train":
            place += ["--name", "run", "--engine", "ray", "--log-seconds", "0.5", "--checkpoint-seconds", "2"]
        with open(folder / "train.log", "a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "hogwild", *words, *place], stdout=log, stderr=log, start_new_session=True
            )
        self.log = folder / "train.log"

    @property
    def status(self) -> dict[str, Any]:
        """What the run says of itself."""
        try:
            found: dict[str, Any] = json.loads((self.folder / "status.json").read_text())
        except (OSError, ValueError):
            return {"steps": 0, "workers": []}
        # After a kill it may be that of the one before.
        return found if found["pid"] == self.process.pid else found | {"workers": []}

    def steps(self) -> int:
        """Steps so far."""
        return int(self.status["steps"])

    def machines(self) -> dict[str, str]:
        """What the workers of each machine do."""
        return {worker["machine"]: worker["state"] for worker in self.status["workers"] if worker["role"] == "worker"}

    def playing(self) -> set[str]:
        """Machines whose workers play."""
        return {name for name, state in self.machines().items() if state == "playing"}

    def events(self, kind: str) -> list[dict[str, Any]]:
        """What happened to the run."""
        try:
            lines = (self.folder / "events.jsonl").read_text().splitlines(keepends=True)
        except OSError:
            return []
        whole = [json.loads(line) for line in lines if line.endswith("\n")]
        return [event for event in whole if event["kind"] == kind]

    def speed(self, name: str, seconds: float) -> float:
        """Steps a second of one machine."""

        def steps() -> int:
            return sum(worker["steps"] for worker in self.status["workers"] if worker["machine"] == name)

        began, before = time.monotonic(), steps()
        time.sleep(seconds)
        return (steps() - before) / (time.monotonic() - began)

    def grows(self, by: int = 1000, seconds: float = 60.0) -> float:
        """Wait until training has gone on."""
        goal = self.steps() + by
        return until(lambda: self.steps() >= goal, seconds, f"{by} more steps; {self.tail()}")

    def tail(self) -> str:
        """The end of what it printed."""
        return self.log.read_text()[-3000:]

    def end(self) -> int:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self, seconds: float = 120.0) -> int:
        """Wait for its end."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end: {self.tail()}") from None


def main() -> None:
    """Play the scenario that is named."""
    from tests.engines.ray import scenarios

    world = World()
    try:
        found = getattr(scenarios, sys.argv[1])(world)
    except BaseException:
        for log in world.folder.glob("*.log"):
            print(f"--- {log.name}\n{log.read_text()[-2500:]}")
        raise
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
    os._exit(0)  # whatever is left ends with the namespaces
