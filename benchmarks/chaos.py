"""Trainings to which something happens every five seconds, beside undisturbed twins.

    python benchmarks/chaos.py                        # CartPole and Pong, ten minutes each, and their twins: 40 minutes
    python benchmarks/chaos.py --only CartPole-v1 --minutes 2

Chosen by a seed: a worker is killed, all are killed, one is stopped for three seconds, the whole training is killed and
resumed, or a byte of the newest checkpoint is changed before it is killed and resumed. Written down are the final
return, the steps, what was lost, and what is left behind. Writes `benchmarks/results/chaos.json` and the table in
`docs/results/chaos.md`.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
from pages import ROOT, replace_table

from hogwild.api import Run
from hogwild.runs.checkpoint import list_checkpoints
from hogwild.runs.folder import RunFolder, read_json

OUTPUT = ROOT / "benchmarks" / "results" / "chaos.json"
EVERY = 5.0  # seconds
STOPPED = 3.0  # seconds that somebody is stopped
FLAGS = {"CartPole-v1": ["--until-return", "501"], "pong": ["--until-return", "21"]}


class Training:
    """A training in processes of its own, which can be killed and resumed."""

    def __init__(self, env: str, minutes: float, name: str, runs: str) -> None:
        self.minutes, self.runs = minutes, runs
        self.folder = RunFolder(Path(runs) / name)
        place = ["--runs", runs, "--name", name, "--overwrite", "--checkpoint-seconds", "10", "--max-deaths", "1000"]
        self._start(["train", env, *FLAGS.get(env, []), "--minutes", str(minutes), *place])

    def _start(self, words: list[str]) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "hogwild", *words, "--quiet"], stderr=subprocess.DEVNULL)

    def workers(self) -> list[int]:
        """Processes of workers that play."""
        found = read_json(self.folder.status).get("workers", [])
        return [w["pid"] for w in found if w["state"] == "playing" and psutil.pid_exists(w["pid"])]

    def kill_and_resume(self) -> None:
        """Kill the coordinator, and go on from what it saved."""
        self.process.kill()
        self.process.wait()
        if list_checkpoints(self.folder.checkpoints):
            self._start(["resume", self.folder.name, "--runs", self.runs])


def disturb(training: Training, chance: random.Random) -> str:
    """Do something to a training; answers what."""
    workers = training.workers()
    what = chance.choice(
        ["kill a worker"] * 4 + ["stop a worker"] * 3 + ["kill all workers", "kill and resume", "corrupt"]
    )
    if what in ("kill a worker", "stop a worker", "kill all workers") and not workers:
        return "nothing"
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
        if what == "corrupt" and (found := list_checkpoints(training.folder.checkpoints)):
            file = found[-1] / "weights.safetensors"
            content = bytearray(file.read_bytes())
            content[chance.randrange(len(content))] ^= 1
            file.write_bytes(content)
        training.kill_and_resume()
    return what


def measure(env: str, minutes: float, is_disturbed: bool, runs: str) -> dict[str, Any]:
    """Train for so many minutes of the clock, disturbed or not."""
    before = set(os.listdir("/dev/shm"))
    training = Training(env, minutes, f"{env}-{'chaos' if is_disturbed else 'twin'}".lower(), runs)
    chance, done, began = random.Random(0), [], time.monotonic()
    while training.process.poll() is None:
        time.sleep(EVERY)
        if is_disturbed and time.monotonic() - began < 60 * minutes - 30 and training.folder.status.exists():
            done.append(disturb(training, chance))
    run = Run(training.folder.name, runs)
    status = run.status
    left = [p.pid for p in psutil.process_iter(["cmdline"]) if "spawn_main" in " ".join(p.info["cmdline"] or [])]
    return {
        "env": env,
        "disturbed": is_disturbed,
        "disturbances": {what: done.count(what) for what in sorted(set(done))},
        "exit_code": training.process.returncode,
        "steps": status["steps"],
        "return_mean": status["return_mean"],
        "best": status["return_best"],
        "minutes_of_training": round(status["seconds"] / 60, 2),
        "minutes_by_the_clock": round((time.monotonic() - began) / 60, 2),
        "left_behind": {"processes": left, "shared_memory": sorted(set(os.listdir("/dev/shm")) - before)},
    }


def table(results: list[dict[str, Any]]) -> str:
    """One row for each training."""
    head = "| | disturbances | steps | mean return at the end | minutes of training, by the clock | left behind |"
    lines = [head, "|---|---|---|---|---|---|"]
    for run in results:
        disturbances = ", ".join(f"{count} × {what}" for what, count in run["disturbances"].items()) or "none"
        left = sum(map(len, run["left_behind"].values()))
        lines.append(
            f"| {run['env']} | {disturbances} | {run['steps']:,} | {run['return_mean']:.1f} "
            f"| {run['minutes_of_training']}, {run['minutes_by_the_clock']} | {left or 'nothing'} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=["CartPole-v1", "pong"])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--runs", default="runs/benchmark-chaos")
    given = parser.parse_args()
    results = []
    for env in given.only:
        for is_disturbed in (True, False):
            results.append(measure(env, given.minutes, is_disturbed, given.runs))
            print(json.dumps(results[-1]), flush=True)
            OUTPUT.write_text(json.dumps(results, indent=1) + "\n")
    replace_table("chaos.md", "benchmarks/chaos.py", table(results))


if __name__ == "__main__":
    main()
