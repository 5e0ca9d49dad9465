"""What looking on costs: steps a second of each worker with nobody there, and with somebody who watches worker 0.

    python benchmarks/watching.py

One training of Pong; in turns nobody looks on, and a viewer does. Writes `benchmarks/results/watching.json`.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pages import ROOT

from hogwild.live.mailbox import Inbox
from hogwild.runs.folder import RunFolder, read_json

OUTPUT = ROOT / "benchmarks" / "results" / "watching.json"
TURNS, SECONDS, FORGOTTEN = 6, 20.0, 6.0  # a viewer is forgotten after four seconds


def steps_of(folder: RunFolder) -> list[int]:
    """Steps of each worker so far."""
    return [worker["steps"] for worker in read_json(folder.status)["workers"]]


def speeds(folder: RunFolder, watched: bool) -> list[float]:
    """Steps a second of each worker over one turn; a viewer of worker 0 reads thirty moments a second."""
    inbox, before, started = Inbox(folder.live, 0), steps_of(folder), time.monotonic()
    while (passed := time.monotonic() - started) < SECONDS:
        if watched:
            inbox.look()
            list(inbox.moments(1))
        time.sleep(1 / 30)
    return [(after - first) / passed for after, first in zip(steps_of(folder), before, strict=True)]


def main() -> None:
    with tempfile.TemporaryDirectory() as runs:
        minutes = str((2 * TURNS * (SECONDS + FORGOTTEN) + 40) / 60)
        words = [
            "train",
            "pong",
            "--minutes",
            minutes,
            "--runs",
            runs,
            "--name",
            "seen",
            "--quiet",
            "--log-seconds",
            "0.5",
        ]
        training = subprocess.Popen([sys.executable, "-m", "hogwild", *words])
        folder = RunFolder(Path(runs) / "seen")
        while read_json(folder.status).get("steps", 0) < 50_000:
            time.sleep(0.5)
        found: dict[str, list[list[float]]] = {"nobody": [], "watched": []}
        for _ in range(TURNS):
            for how in found:
                time.sleep(FORGOTTEN)
                found[how].append([round(speed, 1) for speed in speeds(folder, how == "watched")])
                print(how, found[how][-1], flush=True)
        training.terminate()
        training.wait()
    costs = [1 - seen[0] / alone[0] for seen, alone in zip(found["watched"], found["nobody"], strict=True)]
    print(f"worker 0 while it is watched: {statistics.median(costs):+.1%} (median of {TURNS} turns)")
    OUTPUT.write_text(json.dumps({"turns": found, "cost_of_worker_0": costs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
