"""An hour of training: does anything grow?

    python benchmarks/soak.py                       # Pong for an hour
    python benchmarks/soak.py --env CartPole-v1 --minutes 10
    python benchmarks/soak.py --run runs/my-run     # a training that somebody else has started, until it ends

Every ten seconds: private memory, open files and threads of the coordinator and of every worker, and what lies in
/dev/shm. Writes `benchmarks/results/soak.json`, `docs/images/soak.png` and the table in `docs/results/soak.md`.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from pages import ROOT, replace_table

from hogwild.runs.folder import read_json

OUTPUT = ROOT / "benchmarks" / "results" / "soak.json"
EVERY = 10.0  # seconds
SETTLED = 0.1  # of the time: what grows before is start-up


def sample(process: psutil.Process) -> dict[str, float]:
    """What a process holds."""
    memory = process.memory_full_info()
    return {"megabytes": memory.uss / 1e6, "files": process.num_fds(), "threads": process.num_threads()}


def watch(coordinator: psutil.Process) -> list[dict[str, Any]]:
    """Samples of a training and its workers, until it ends."""
    began, samples = time.monotonic(), []
    while coordinator.is_running():
        time.sleep(EVERY)
        try:
            if coordinator.status() == psutil.STATUS_ZOMBIE:
                break
            family = [coordinator, *coordinator.children()]
            each = {str(p.pid): sample(p) for p in family if "resource_tracker" not in " ".join(p.cmdline())}
            shared = sum(f.stat().st_size for f in Path("/dev/shm").iterdir() if f.is_file())
        except (psutil.Error, OSError):  # somebody has just ended
            continue
        samples.append({"seconds": round(time.monotonic() - began, 1), "shared": shared, "processes": each})
    return samples


def slope(samples: list[dict[str, Any]], pid: str, what: str) -> float:
    """Growth per hour, by a straight line through what came after the start."""
    known = [(s["seconds"] / 3600, s["processes"][pid][what]) for s in samples if pid in s["processes"]]
    hours, values = np.array(known[int(SETTLED * len(known)) :]).T
    return float(np.polyfit(hours, values, 1)[0])


def _name(number: int) -> str:
    """Processes in the order in which they were started."""
    return f"worker {number - 1}" if number else "coordinator"


def table(samples: list[dict[str, Any]]) -> str:
    """One row for each process."""
    lines = [
        "| process | MB after a tenth | MB at the end | MB per hour | files | threads |",
        "|---|---|---|---|---|---|",
    ]
    names = list(samples[len(samples) // 2]["processes"])
    for number, pid in enumerate(names):
        known = [s["processes"][pid] for s in samples if pid in s["processes"]]
        first, last = known[int(SETTLED * len(known))], known[-1]
        lines.append(
            f"| {_name(number)} | {first['megabytes']:.1f} | {last['megabytes']:.1f} "
            f"| {slope(samples, pid, 'megabytes'):+.2f} | {first['files']} → {last['files']} "
            f"| {first['threads']} → {last['threads']} |"
        )
    shared = [s["shared"] for s in samples[int(SETTLED * len(samples)) :]]
    return "\n".join([*lines, f"| /dev/shm | {shared[0] / 1e6:.1f} | {shared[-1] / 1e6:.1f} | | | |"])


def plot(samples: list[dict[str, Any]], path: Path) -> None:
    """Memory of every process over time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 3.2), dpi=130)
    for number, pid in enumerate(samples[len(samples) // 2]["processes"]):
        known = [(s["seconds"] / 60, s["processes"][pid]["megabytes"]) for s in samples if pid in s["processes"]]
        axes.plot(*zip(*known, strict=True), label=_name(number))
    axes.set(xlabel="minutes", ylabel="private memory, MB", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="pong")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--runs", default="runs/benchmark-soak")
    parser.add_argument("--run", type=Path, help="the folder of a training that is under way")
    given = parser.parse_args()
    if given.run:
        status = read_json(given.run / "status.json")
        env, process = status["env"], psutil.Process(status["pid"])
    else:
        place = ["--runs", given.runs, "--name", "soak", "--overwrite", "--quiet", "--until-return", "1000000"]
        words = ["-m", "hogwild", "train", given.env, "--minutes", str(given.minutes), *place]
        env, process = given.env, psutil.Popen([sys.executable, *words])
    samples = watch(process)
    OUTPUT.write_text(json.dumps({"env": env, "cores": os.cpu_count(), "samples": samples}) + "\n")
    print(table(samples))
    plot(samples, ROOT / "docs" / "images" / "soak.png")
    replace_table("soak.md", "benchmarks/soak.py", table(samples))


if __name__ == "__main__":
    main()
