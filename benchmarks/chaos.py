"""Trainings to which something happens every five seconds, beside undisturbed twins.

    python benchmarks/chaos.py                        # CartPole and Pong, ten minutes each: 20 minutes
    python benchmarks/chaos.py --only CartPole-v1 --minutes 2

A training and its twin run at the same time, each on a core of its own with two workers. Chosen by a seed: a worker is
killed, all are killed, one is stopped for three seconds, the whole training is killed and resumed, or a byte of the
newest checkpoint is changed before it is killed and resumed. Writes `benchmarks/results/chaos.json` and the table in
`docs/results/chaos.md`. Linux only.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from pages import ROOT, replace_table

from hogwild.api import Run
from hogwild.runs.checkpoint import list_checkpoints, newest_checkpoint, step_of
from hogwild.runs.folder import RunFolder, read_json

OUTPUT = ROOT / "benchmarks" / "results" / "chaos.json"
EVERY = 5.0  # seconds
GAMES = 20  # that are played with the last checkpoint
STOPPED = 3.0  # seconds that somebody is stopped
QUIET = 30.0  # seconds at the end in which nothing happens
FLAGS = {"CartPole-v1": ["--until-return", "501", "--steps", "1e9"], "pong": ["--until-return", "21"]}
FAULTS = ["kill a worker"] * 4 + ["stop a worker"] * 3 + ["kill all workers", "kill and resume", "corrupt and resume"]


class Training:
    """A training on one core, which can be killed and resumed."""

    def __init__(self, env: str, minutes: float, name: str, runs: str, core: int) -> None:
        self.minutes, self.runs, self.core = minutes, runs, core
        self.folder = RunFolder(Path(runs) / name)
        self.began, self.took = time.monotonic(), 0.0
        self.lost = 0  # steps that had not been saved
        place = ["--runs", runs, "--name", name, "--overwrite", "--checkpoint-seconds", "10", "--max-deaths", "1000"]
        self._start(["train", env, *FLAGS.get(env, []), "--workers", "2", "--minutes", str(minutes), *place])

    def _start(self, words: list[str]) -> None:
        self.process = psutil.Popen([sys.executable, "-m", "hogwild", *words, "--quiet"])
        self.process.cpu_affinity([self.core])  # its workers inherit it

    def is_over(self) -> bool:
        """Whether it has ended by itself; the first time, how long it took is written down."""
        if self.process.poll() is None:
            return False
        self.took = self.took or time.monotonic() - self.began
        return True

    def workers(self) -> list[int]:
        """Processes of workers that play."""
        found = read_json(self.folder.status).get("workers", []) if self.folder.status.exists() else []
        return [w["pid"] for w in found if w["state"] == "playing" and psutil.pid_exists(w["pid"])]

    def kill_and_resume(self) -> None:
        """Kill the coordinator, and go on from what it saved."""
        self.process.kill()
        self.process.wait()
        before = read_json(self.folder.status)["steps"]
        whole, _, _ = newest_checkpoint(self.folder.checkpoints)  # the newest of all may be the one that was damaged
        self.lost += max(0, before - step_of(whole))
        self._start(["resume", self.folder.name, "--runs", self.runs])


def disturb(training: Training, chance: random.Random) -> str:
    """Do something to a training; answers what."""
    workers, what = training.workers(), chance.choice(FAULTS)
    checkpoints = list_checkpoints(training.folder.checkpoints)
    if ("worker" in what and not workers) or ("resume" in what and len(checkpoints) < 2):
        return "nothing: still starting"
    if what == "kill a worker":
        os.kill(chance.choice(workers), signal.SIGKILL)
    elif what == "kill all workers":
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
    elif what == "stop a worker":
        pid = chance.choice(workers)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STOPPED)
        os.kill(pid, signal.SIGCONT)
    else:
        if what == "corrupt and resume":
            file = checkpoints[-1] / "weights.safetensors"
            content = bytearray(file.read_bytes())
            content[chance.randrange(len(content))] ^= 1
            file.write_bytes(content)
        training.kill_and_resume()
    return what


def measure(env: str, minutes: float, runs: str) -> list[dict[str, Any]]:
    """Train twice at the same time, disturbed and not."""
    before, others = set(os.listdir("/dev/shm")), ours(runs)
    pair = [Training(env, minutes, f"{env}-{name}".lower(), runs, core) for core, name in enumerate(("chaos", "twin"))]
    chance, done = random.Random(0), []
    while True:
        over = [training.is_over() for training in pair]
        if all(over):
            break
        time.sleep(EVERY)
        passed = time.monotonic() - pair[0].began
        if pair[0].process.poll() is None and passed < 60 * minutes - QUIET:
            done.append(disturb(pair[0], chance))
        elif passed > 60 * minutes:
            with suppress(psutil.NoSuchProcess):  # it may just have ended
                pair[0].process.terminate()  # in order
    time.sleep(EVERY)  # for those who were killed to vanish
    left = sorted(ours(runs) - others)
    left_behind = {"processes": left, "shared_memory": sorted(set(os.listdir("/dev/shm")) - before)}
    return [record(env, training, done if training is pair[0] else [], left_behind) for training in pair]


def ours(runs: str) -> set[int]:
    """Processes that may belong to a training in this folder."""
    words = ((p.pid, " ".join(p.info["cmdline"] or [])) for p in psutil.process_iter(["cmdline"]))
    return {pid for pid, line in words if (runs in line and "hogwild" in line) or "spawn_main" in line}


def record(env: str, training: Training, done: list[str], left_behind: dict[str, Any]) -> dict[str, Any]:
    """What became of a training."""
    status = Run(training.folder.name, training.runs).status
    play = [sys.executable, "-m", "hogwild", "eval", str(training.folder.path), "--json", "--episodes", str(GAMES)]
    printed = subprocess.run(play, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {
        "env": env,
        "disturbances": {what: done.count(what) for what in sorted(set(done))},
        "exit_code": training.process.returncode,
        "steps": status["steps"],
        "steps_lost": training.lost,
        "evaluation": json.loads(printed.splitlines()[-1]),
        "minutes_of_training": round(status["seconds"] / 60, 2),
        "minutes_by_the_clock": round(training.took / 60, 2),
        "left_behind": left_behind,
    }


def table(results: list[dict[str, Any]]) -> str:
    """One row for each training."""
    head = f"| | what happened | steps | steps lost | {GAMES} games afterwards | minutes lost | left behind |"
    lines = [head, "|---|---|---|---|---|---|---|"]
    for run in results:
        disturbances = ", ".join(f"{count} × {what}" for what, count in run["disturbances"].items()) or "nothing"
        left = sum(map(len, run["left_behind"].values()))
        lines.append(
            f"| {run['env']} | {disturbances} | {run['steps']:,} | {run['steps_lost']:,} "
            f"| {run['evaluation']['mean']:.1f} "
            f"| {run['minutes_by_the_clock'] - run['minutes_of_training']:.1f} | {left or 'nothing'} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=["CartPole-v1", "pong"])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--runs", default="runs/benchmark-chaos")
    given = parser.parse_args()
    results: list[dict[str, Any]] = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else []
    for env in given.only:
        results = [run for run in results if run["env"] != env] + measure(env, given.minutes, given.runs)
        OUTPUT.write_text(json.dumps(results, indent=1) + "\n")
        print(table(results), flush=True)
    replace_table("chaos.md", "benchmarks/chaos.py", table(results))


if __name__ == "__main__":
    main()
