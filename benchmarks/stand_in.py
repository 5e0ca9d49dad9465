"""An environment whose step takes a fixed time and no processor, so that many workers fit on few cores."""

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

ROOT = Path(__file__).parent.parent
PAUSE, STRAGGLER = "STAND_IN_PAUSE", "STAND_IN_STRAGGLER"  # in the environment of the processes


class StandIn(gymnasium.Env[np.ndarray, np.int64]):
    """Does nothing, slowly; in worker 0 ten times as slowly, if the straggler is let loose."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self) -> None:
        slow = os.environ.get(STRAGGLER) == "1" and multiprocessing.current_process().name == "hogwild worker 0"
        self.pause = float(os.environ[PAUSE]) * (10 if slow else 1)
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


gymnasium.register("StandIn-v0", entry_point=StandIn)


def train(seconds: float, pause: float, flags: list[str], straggler: bool = False) -> list[dict[str, float]]:
    """Train on the stand-in; answers the metrics of the second half, when everybody is up and running."""
    with tempfile.TemporaryDirectory() as runs:
        place = ["--minutes", str(seconds / 60), "--runs", runs, "--name", "stand-in", "--quiet", "--log-seconds", "1"]
        environment = os.environ | {PAUSE: str(pause), STRAGGLER: str(int(straggler))}
        environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, __file__, "train", "stand_in:StandIn-v0", "--envs", "1", *place, *flags]
        subprocess.run(command, check=True, env=environment, cwd=ROOT)
        text = (Path(runs) / "stand-in" / "metrics.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    return [row for row in rows if row["progress/seconds"] > seconds / 2]


def per_second(rows: list[dict[str, float]], what: str) -> float:
    """How fast a counter grows over the rows."""
    passed = rows[-1]["progress/seconds"] - rows[0]["progress/seconds"]
    return (rows[-1][what] - rows[0][what]) / passed


def main() -> None:
    """The command `hogwild`, whose workers are forked from a server that has imported torch: 64 that each import it
    by themselves would need minutes."""
    from hogwild.cli.main import run
    from hogwild.engines import member

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "hogwild.engines.worker_process", "hogwild.worker"])
    forkserver.ensure_running()
    member.CONTEXT = context
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
