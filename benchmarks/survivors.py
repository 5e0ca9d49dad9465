"""How fast one worker is while another is killed again and again, or stands still.

    python benchmarks/survivors.py

Two workers of CartPole. After a while in peace, the second is killed whenever it plays, or is stopped, for as long; and
then there is peace again. What counts is the first one's speed meanwhile, beside the mean of before and after. Writes
`benchmarks/results/survivors.json` and a table in `docs/results/chaos.md`.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pages import ROOT, replace_table

from hogwild.runs.folder import read_json

OUTPUT = ROOT / "benchmarks" / "results" / "survivors.json"
EXCHANGES = ("weights", "gradients", "trajectories")
PAUSE = 0.1  # seconds between two looks


class Pair:
    """A training with two workers."""

    def __init__(self, exchange: str, runs: str) -> None:
        self.status = Path(runs) / "run" / "status.json"
        place = ["--runs", runs, "--name", "run", "--overwrite", "--quiet", "--log-seconds", "0.2"]
        flags = ["--workers", "2", "--exchange", exchange, "--until-return", "501", "--steps", "1e9"]
        words = [sys.executable, "-m", "hogwild", "train", "CartPole-v1", *flags, *place, "--max-deaths", "1000"]
        self.process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        while not self.status.exists() or min(self.worker(rank)["steps"] for rank in (0, 1)) < 20_000:
            time.sleep(PAUSE)

    def worker(self, rank: int) -> dict[str, Any]:
        """What is known of a worker."""
        found: dict[str, Any] = read_json(self.status)["workers"][rank]
        return found

    def speed(self, seconds: float, meanwhile: Callable[[], None] = lambda: None) -> float:
        """Steps per second of the first worker."""
        began, before = time.monotonic(), self.worker(0)["steps"]
        while time.monotonic() < began + seconds:
            meanwhile()
            time.sleep(PAUSE)
        return float((self.worker(0)["steps"] - before) / (time.monotonic() - began))

    def kill_second(self) -> None:
        """Kill the second worker, if it plays."""
        if self.worker(1)["state"] == "playing":
            self.signal_second(signal.SIGKILL)

    def signal_second(self, number: signal.Signals) -> None:
        """Send a signal to the second worker."""
        try:
            os.kill(self.worker(1)["pid"], number)
        except ProcessLookupError:
            return  # it is gone already

    def close(self) -> None:
        """End the training."""
        self.process.terminate()
        self.process.wait()


def measure(exchange: str, seconds: float) -> dict[str, float]:
    """Speed during each fault, as a share of the speed in peace."""
    with tempfile.TemporaryDirectory() as runs:
        pair = Pair(exchange, runs)
        try:
            before = pair.speed(seconds)
            killed = pair.speed(seconds, pair.kill_second)
            time.sleep(seconds)  # for the last one to be replaced
            between = pair.speed(seconds)
            pair.signal_second(signal.SIGSTOP)
            stopped = pair.speed(seconds)
            pair.signal_second(signal.SIGCONT)
            after = pair.speed(seconds)
        finally:
            pair.close()
    return {"killed": 2 * killed / (before + between), "stopped": 2 * stopped / (between + after)}


def table(results: dict[str, list[dict[str, float]]]) -> str:
    """One row for each exchange."""
    lines = ["| exchange | the other is killed again and again | the other stands still |", "|---|---|---|"]
    for exchange, rounds in results.items():
        cells = []
        for fault in ("killed", "stopped"):
            shares = [found[fault] for found in rounds]
            cells.append(f"**{statistics.median(shares):.0%}** ({', '.join(format(share, '.0%') for share in shares)})")
        lines.append(f"| `{exchange}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0)
    given = parser.parse_args()
    results: dict[str, list[dict[str, float]]] = {exchange: [] for exchange in EXCHANGES}
    for _ in range(given.rounds):
        for exchange in EXCHANGES:
            results[exchange].append(measure(exchange, given.seconds))
            print(exchange, results[exchange][-1], flush=True)
    OUTPUT.write_text(json.dumps(results, indent=1) + "\n")
    replace_table("chaos.md", "benchmarks/survivors.py", table(results))


if __name__ == "__main__":
    main()
