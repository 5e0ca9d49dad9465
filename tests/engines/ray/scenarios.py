"""What happens to a cluster, in a world of namespaces; each answers what it saw."""

import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

from tests.engines.ray.world import HEAD, PORT, World, run, until

ENDLESS = ("--until-return", 501, "--steps", "1e9")


def solved(world: World, *flags: object) -> dict[str, Any]:
    """A head and three machines solve CartPole."""
    world.start_head()
    for _ in range(3):
        world.add()
    until(lambda: world.joined() == 3, 200.0, "three machines")
    training = world.train("--seed", 1, "--until-return", 475, "--steps", 2_000_000, *flags)
    code = training.wait(300.0)
    text = training.tail()
    return {"code": code, "text": text, "machines": sorted(training.machines()), "steps": training.steps()}


def solved_by_trajectories(world: World) -> dict[str, Any]:
    """What was played travels, with nothing but the defaults."""
    return solved(world)


def solved_by_gradients(world: World) -> dict[str, Any]:
    """Gradients travel, in half their bytes."""
    return solved(world, "--exchange", "gradients", "--compress", "bfloat16")


def killed(world: World) -> dict[str, Any]:
    """One of three machines loses its power; then the learner's process is killed; then another machine joins."""
    world.start_head()
    first, _, _ = (world.add() for _ in range(3))
    training = world.train(*ENDLESS)
    until(lambda: training.playing() == {"n1", "n2", "n3"}, 150.0, f"three machines: {training.tail()}")
    training.grows(2000)
    before = training.speed("n2", 10.0)
    first.kill()
    lost = until(lambda: training.events("silent") + training.events("gone"), 20.0, "a word about n1")
    during = training.speed("n2", 10.0)
    until(lambda: training.events("gone"), 30.0, "the end of n1")
    learner = next(worker for worker in training.status["workers"] if worker["role"] == "learner")
    os.kill(learner["pid"], signal.SIGKILL)
    until(lambda: training.events("died"), 10.0, "the death of the learner")
    training.grows(2000)
    world.add()
    joined = until(lambda: "n4" in training.playing(), 150.0, "n4")
    code = training.end()
    updates, steps = training.status["updates"], training.status["steps"]
    return {
        "seconds_to_see": lost,
        "speed_meanwhile": during / before,
        "joined_after": joined,
        "code": code,
        "steps": steps,
        "updates": updates,
        "counted": sum(worker["steps"] for worker in training.status["workers"]),
    }


def cut_off(world: World) -> dict[str, Any]:
    """A machine is cut off for 15 seconds and joins again; another stands still for 30 seconds."""
    world.start_head()
    first, second = world.add(), world.add()
    training = world.train(*ENDLESS)
    until(lambda: training.playing() == {"n1", "n2"}, 150.0, f"two machines: {training.tail()}")
    training.grows(2000)
    before = training.speed("n2", 10.0)
    first.cut_off()
    seen = until(lambda: training.events("silent") + training.events("gone"), 20.0, "a word about n1")
    meanwhile = training.speed("n2", 8.0)
    time.sleep(max(0.0, 15.0 - seen - 8.0))
    first.heal()
    back = until(lambda: "n1" in training.playing(), 150.0, "n1 again")
    training.grows(2000)
    second.signal(signal.SIGSTOP)
    stopped = until(lambda: "n2" not in training.playing(), 20.0, "a word about n2")
    time.sleep(30.0 - stopped)
    training.grows(500)
    second.signal(signal.SIGCONT)
    again = until(lambda: "n2" in training.playing(), 150.0, "n2 again")
    training.grows(2000)
    return {
        "seconds_to_see": seen,
        "speed_meanwhile": meanwhile / before,
        "seconds_to_rejoin": back,
        "seconds_to_see_a_stop": stopped,
        "seconds_to_go_on": again,
        "code": training.end(),
    }


def head_lost(world: World) -> dict[str, Any]:
    """The first machine is lost with the coordinator; started anew, one command goes on where it was."""
    world.start_head()
    node = world.add()
    training = world.train(*ENDLESS)
    until(lambda: len(list((training.folder / "checkpoints").glob("step-*"))) >= 2, 150.0, training.tail())
    training.grows(3000)
    world.kill_head()
    training.wait(90.0)
    saved = int(max((training.folder / "checkpoints").glob("step-*")).name.removeprefix("step-"))
    world.start_head()
    resumed = world.train(command="resume run")
    until(lambda: resumed.playing() == {"n1"}, 120.0, f"n1 again: {resumed.tail()}; {node.log.name}")
    resumed.grows(2000)
    first = int((training.folder / "log.txt").read_text().split("resumed at step ")[1].split()[0].replace(",", ""))
    code = resumed.end()
    return {"saved": saved, "resumed_at": first, "after": resumed.steps(), "code": code}


def slow_line(world: World) -> dict[str, Any]:
    """The line to one machine carries 2 Mbit a second, a fifth of what its workers play."""
    world.start_head()
    node = world.add()
    world.add()
    training = world.train(*ENDLESS, "--envs", 64)
    until(lambda: training.playing() == {"n1", "n2"}, 150.0, f"two machines: {training.tail()}")
    node.slow_down("2mbit")
    training.grows(30_000, 120.0)
    speeds = {name: training.speed(name, 12.0) for name in ("n1", "n2")}
    rows = (training.folder / "metrics.jsonl").read_text().splitlines()
    return {"speeds": speeds, "has_lag": '"async/lag"' in "".join(rows[-10:]), "code": training.end()}


def strangers(world: World) -> dict[str, Any]:
    """Who has no token or the wrong one, or sends rubbish, is turned away, and training goes on."""
    world.start_head()
    world.add()
    training = world.train(*ENDLESS)
    until(lambda: training.playing() == {"n1"}, 150.0, f"a machine: {training.tail()}")
    answers = {}
    script = f"import ray; ray.init('{HEAD}:{PORT}', log_to_driver=False); print('in')"
    wrong = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
    none = {"RAY_AUTH_MODE": "disabled"}
    right = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": os.environ["RAY_AUTH_TOKEN_PATH"]}
    for name, variables in (("wrong token", wrong), ("no token", none), ("the token", right)):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RAY_AUTH")} | variables
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        answers[name] = "in" in done.stdout.split()
    for rubbish in (os.urandom(4096), b"\xff\xff\xff\xff" * 64, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + os.urandom(2048)):
        with socket.create_connection((HEAD, PORT), timeout=5) as line:
            line.sendall(rubbish)
            line.settimeout(3.0)
            try:
                line.recv(1024)
            except OSError:
                continue
    training.grows(2000)
    return {"let_in": answers, "code": training.end()}


def by_script(world: World, script: str, stand_ins: dict[str, str], *arguments: str) -> dict[str, Any]:
    """One of the scripts for clusters of others starts machines, trains on them, and leaves nothing running there."""
    node = world.add(command="sleep 100000")
    enter = world.enter(node)
    folder = world.folder / "bin"
    folder.mkdir()
    for name, text in stand_ins.items():
        (folder / name).write_text("#!/usr/bin/env bash\n" + text.replace("ENTER", enter))
        (folder / name).chmod(0o755)
    (folder / "hogwild").write_text(f'#!/bin/sh\nexec {sys.executable} -m hogwild "$@"\n')
    (folder / "hogwild").chmod(0o755)
    home = world.folder / "home"
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {
        "PATH": f"{folder}:{environment['PATH']}",
        "HOME": str(home),
        "SLURM_JOB_ID": "7",
        "SLURMD_NODENAME": "head",
    }
    environment |= {"SLURM_JOB_NUM_NODES": "2", "HOGWILD": str(folder / "hogwild")}
    training = [
        "train",
        "CartPole-v1",
        "--steps",
        "200000",
        "--until-return",
        "501",
        "--runs",
        str(world.folder / "runs"),
        "--name",
        "run",
    ]
    log = world.folder / "script.log"
    with log.open("w") as said:
        words = ["bash", f"examples/cluster/{script}", *arguments, *training]
        code = subprocess.run(words, env=environment, stdout=said, stderr=said, timeout=300, check=False).returncode
    text = log.read_text()

    def running() -> list[str]:
        return [
            line
            for line in run(*enter.split(), "ps", "-e", "-o", "args").splitlines()
            if "raylet" in line and "defunct" not in line
        ]

    until(lambda: not running(), 30.0, f"the end of Ray there: {running()}")
    return {"code": code, "joined": "Machine n1 takes part" in text, "text": text[-4000:]}


def by_ssh(world: World) -> dict[str, Any]:
    """Plain hosts; what stands in for ssh enters their namespaces."""
    ssh = """
    while [ "${1#-}" != "$1" ]; do shift; done; shift
    mkdir -p /mnt/home-there
    trap 'ENTER pkill -TERM -f "hogwild node"' TERM
    ENTER env HOME=/mnt/home-there sh -c "$*" <&0 &
    until wait; do :; done
    """
    return by_script(world, "ssh.sh", {"ssh": ssh}, "n1", HEAD)


def by_slurm(world: World) -> dict[str, Any]:
    """A job on two nodes; what stands in for srun enters the namespace of the second."""
    srun = """
    while [ "${1#-}" != "$1" ]; do shift; done
    trap 'ENTER pkill -TERM -f "hogwild node"' TERM
    ENTER "$@" &
    until wait; do :; done
    """
    hostname = f"""
    [ "$#" = 0 ] && echo head || echo {HEAD}
    """
    return by_script(world, "slurm.sh", {"srun": srun, "hostname": hostname})
