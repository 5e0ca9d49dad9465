"""What looking on costs: processor time of a step in each worker with nobody there, and while worker 0 is watched.

    python benchmarks/watching.py

One training of Pong; in turns nobody looks on, and a viewer does. Steps a second are told, too, but on a computer that
others use they differ by more than any viewer costs; how long the processor works for a step differs less. Writes
`benchmarks/results/watching.json`.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from pages import ROOT

from hogwild.live.mailbox import Inbox
from hogwild.runs.folder import RunFolder, read_json

OUTPUT = ROOT / "benchmarks" / "results" / "watching.json"
TURNS, SECONDS, FORGOTTEN = 8, 30.0, 5.0  # a viewer is forgotten after four seconds


def read_workers(folder: RunFolder) -> list[tuple[int, float]]:
    """Steps of each worker so far, and seconds that its process has worked."""
    workers = read_json(folder.status)["workers"]
    times = [psutil.Process(worker["pid"]).cpu_times() for worker in workers]
    return [(worker["steps"], used.user + used.system) for worker, used in zip(workers, times, strict=True)]


def turn(folder: RunFolder, watched: bool) -> list[dict[str, float]]:
    """What a turn came to for each worker; a viewer of worker 0 reads thirty moments a second."""
    inbox, before, started = Inbox(folder.live, 0), read_workers(folder), time.monotonic()
    while (passed := time.monotonic() - started) < SECONDS:
        if watched:
            inbox.look()
            list(inbox.moments(1))
        time.sleep(1 / 30)
    found = []
    for (steps, used), (first, unused) in zip(read_workers(folder), before, strict=True):
        speed, microseconds = (steps - first) / passed, (used - unused) / (steps - first) * 1e6
        found.append({"steps_per_second": round(speed, 1), "microseconds_per_step": round(microseconds, 2)})
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as runs:
        minutes = str((2 * TURNS * (SECONDS + FORGOTTEN) + 40) / 60)
        words = ["train", "pong", "--minutes", minutes, "--until-return", "1000", "--runs", runs, "--name", "seen"]
        words += ["--quiet", "--log-seconds", "0.2"]
        training = subprocess.Popen([sys.executable, "-m", "hogwild", *words])
        folder = RunFolder(Path(runs) / "seen")
        while read_json(folder.status).get("steps", 0) < 50_000:
            time.sleep(0.5)
        found: dict[str, list[list[dict[str, float]]]] = {"nobody": [], "watched": []}
        for _ in range(TURNS):
            for how in found:
                time.sleep(FORGOTTEN)
                found[how].append(turn(folder, how == "watched"))
                print(how, found[how][-1], flush=True)
        training.terminate()
        training.wait()
    key = "microseconds_per_step"
    costs = [seen[0][key] / alone[0][key] - 1 for seen, alone in zip(found["watched"], found["nobody"], strict=True)]
    print(f"a step of worker 0 while it is watched: {statistics.median(costs):+.1%} (median of {TURNS} pairs)")
    OUTPUT.write_text(json.dumps({"turns": found, "cost_of_worker_0": costs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
