"""One environment in ten is ten times slower: what does each exchange lose?

    python benchmarks/straggler.py

Ten workers with one environment each, whose step takes 5 ms of sleep, so that ten of them fit on two cores; in the
second round one worker's takes 50 ms. Writes `benchmarks/results/straggler.json` and prints a table.
"""

import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

ROOT = Path(__file__).parent.parent
WORKERS, ROUNDS, SECONDS = 10, 3, 20
EXCHANGES = ("weights", "gradients", "trajectories", "barrier")
STEP_SECONDS = 0.005


class SlowEnv(gymnasium.Env[np.ndarray, np.int64]):
    """Does nothing, slowly; in one worker ten times as slowly, if the straggler is let loose."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self) -> None:
        slow = os.environ.get("STRAGGLER") == "1" and multiprocessing.current_process().name == "hogwild worker 0"
        self.pause = STEP_SECONDS * (10 if slow else 1)
        self.steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed, options=options)
        self.steps = 0
        return np.zeros(4, dtype=np.float32), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:  # noqa: ARG002
        """Sleep."""
        time.sleep(self.pause)
        self.steps += 1
        return np.zeros(4, dtype=np.float32), 1.0, self.steps == 50, False, {}


gymnasium.register("Slow-v0", entry_point=SlowEnv)


def speed(exchange: str, straggler: bool) -> float:
    """Steps per second, from the rows after the first seconds."""
    with tempfile.TemporaryDirectory() as runs:
        flags = ["--workers", str(WORKERS), "--envs", "1", "--rollout-steps", "8", "--exchange", exchange]
        flags += ["--minutes", str(SECONDS / 60), "--runs", runs, "--name", "slow", "--quiet", "--log-seconds", "1"]
        environment = os.environ | {"STRAGGLER": str(int(straggler)), "PYTHONPATH": str(Path(__file__).parent)}
        command = [sys.executable, "-m", "hogwild", "train", "straggler:Slow-v0", *flags]
        subprocess.run(command, check=True, env=environment, cwd=ROOT)
        rows = [json.loads(line) for line in (Path(runs) / "slow" / "metrics.jsonl").read_text().splitlines()]
    late = [row for row in rows if row["progress/seconds"] > SECONDS / 2]
    passed = late[-1]["progress/seconds"] - late[0]["progress/seconds"]
    return float((late[-1]["progress/steps"] - late[0]["progress/steps"]) / passed)


def main() -> None:
    results: dict[str, dict[str, list[float]]] = {x: {"alike": [], "straggler": []} for x in EXCHANGES}
    for _ in range(ROUNDS):
        for exchange in EXCHANGES:
            results[exchange]["alike"].append(round(speed(exchange, straggler=False), 1))
            results[exchange]["straggler"].append(round(speed(exchange, straggler=True), 1))
            print(exchange, results[exchange], flush=True)
    (ROOT / "benchmarks" / "results" / "straggler.json").write_text(json.dumps(results, indent=1) + "\n")
    print("| exchange | steps/s, all alike | one in ten ten times slower | lost |\n|---|---|---|---|")
    for exchange, speeds in results.items():
        alike, slow = (statistics.median(speeds[kind]) for kind in ("alike", "straggler"))
        print(f"| {exchange} | {alike:,.0f} | {slow:,.0f} | {1 - slow / alike:.0%} |")


if __name__ == "__main__":
    main()
