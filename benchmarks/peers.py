"""Training speed beside other libraries: the same game, the same cores, in turns.

    make bench-peers                                            # installs the peers, three rounds, about 40 minutes
    python benchmarks/peers.py --rounds 1 --only sb3 hogwild    # some of them

Every library has a virtual environment of its own under `.peers/`. All settings of all libraries are run once in each
round, one after the other, so that a machine that slows down for a while slows down all alike. What counts are steps
that were learned from, after a warm-up, by the clock. Writes `benchmarks/results/peers.json` after every run, and at
the end, or with `--report` alone, the figure `docs/images/peers.png` and the tables in `docs/results/peers.md`.
"""

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from pages import ROOT, replace_table
from peer_settings import A3C, PPO, SETTINGS, TASKS, Setting

SCRIPTS = Path(__file__).parent / "peer_scripts"
OUTPUT = ROOT / "benchmarks" / "results" / "peers.json"
TORCH, OPENCV = "torch==2.13.0", "opencv-python-headless"
REQUIREMENTS = {
    "sb3": [
        TORCH,
        "sb3-contrib==2.9.2",
        "stable-baselines3==2.9.2",
        "gymnasium==1.4.0",
        "ale-py==0.12.1",
        "opencv-python-headless",
        "box2d==2.3.10",
        "mujoco==3.8.1",
        "pygame-ce==2.5.8",
        "imageio==2.38.1",
        "packaging==26.3",
    ],
    "rllib": [TORCH, "ray[rllib]==2.60.0", "ale-py==0.12.1", OPENCV],
    "tianshou": [TORCH, "tianshou==2.0.1", "envpool==1.2.5", "numpy==2.2.6", "ale-py==0.12.1", OPENCV],
    "sample_factory": [TORCH, "sample-factory==2.1.1", "ale-py==0.10.1", OPENCV],
}
OURS = ("hogwild", "emulator")  # run in this virtual environment
LATEST_START = 300  # seconds until a library has to have begun to learn


def python_of(library: str) -> str:
    """The interpreter of a library's virtual environment, made if need be."""
    if library in OURS:
        return sys.executable
    folder = ROOT / ".peers" / library
    done, wanted = folder / "installed", " ".join(REQUIREMENTS[library])
    if not done.exists() or done.read_text() != wanted:
        print(f"installing {library} …", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", *REQUIREMENTS[library]], check=True)
        done.write_text(wanted)
    return str(folder / "bin" / "python")


def measure(setting: Setting, seconds: float, warm_up: float) -> dict[str, Any]:
    """Run one setting; its steps per second, and the memory of all its processes."""
    command = [python_of(setting.library), str(SCRIPTS / f"peer_{setting.library}.py"), *setting.flags.split()]
    command += ["--seconds", str(seconds), "--warm-up", str(warm_up)]
    # One thread for each process, for all alike: the default of PyTorch, one for each core, slows all of them down.
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    before = set(_semaphores())
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=output, stderr=errors, env=environment, start_new_session=True)
        try:
            memory = _watch(process, time.monotonic() + LATEST_START + warm_up + seconds)
        finally:
            _end_group(process)
            for left in set(_semaphores()) - before:  # by a library that was killed
                left.unlink(missing_ok=True)
        output.seek(0)
        line = next((line for line in reversed(output.readlines()) if line.startswith("{")), None)
        if line is None:
            errors.seek(0)
            return {"failed": [text.strip() for text in errors.readlines()[-3:]]}
    found = json.loads(line)
    return found | {"steps_per_second": round(found["steps"] / found["seconds"], 1), "megabytes": round(memory)}


def _watch(process: "subprocess.Popen[bytes]", deadline: float) -> float:
    """Wait for the end; answers the most memory that all processes together had to themselves, in MB."""
    most = 0.0
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(2.0)
        try:
            family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
            most = max(most, sum(each.memory_full_info().uss for each in family) / 1e6)
        except psutil.Error:  # one of them has just ended
            continue
    return most


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _semaphores() -> list[Path]:
    """Locks between processes that lie in shared memory; whoever is killed leaves them there."""
    return list(Path("/dev/shm").glob("sem.mp-*"))


def speeds(results: dict[str, Any], setting: Setting) -> list[float]:
    """Steps per second of every round that worked."""
    return [run["steps_per_second"] for run in results.get(setting.name, []) if "failed" not in run]


def table(results: dict[str, Any], task: str) -> str:
    """The settings of a task, the fastest first."""
    rows: list[tuple[float, str]] = []
    for setting in SETTINGS:
        each = speeds(results, setting) if setting.task == task else []
        if each:
            memory = statistics.median(run["megabytes"] for run in results[setting.name] if "failed" not in run)
            words = (setting.library, setting.what, setting.network, f"**{statistics.median(each):,.0f}**")
            rounds = ", ".join(f"{speed:,.0f}" for speed in each)
            rows.append((statistics.median(each), f"| {' | '.join(words)} | {rounds} | {memory:,.0f} |"))
    head = "| | setting | pictures, network | steps/s, median | every round | MB |\n|---|---|---|---|---|---|"
    return "\n".join([head, *(row for _, row in sorted(rows, reverse=True))])


def ratios(results: dict[str, Any]) -> str:
    """How much faster we are than the fastest peer, and how near the emulator: medians of each round's ratio."""
    lines = ["| | beside | ratio, median | every round |", "|---|---|---|---|"]
    for mine in SETTINGS:
        if mine.library != "hogwild":
            continue
        others = [s for s in SETTINGS if s.task == mine.task and s.library != "hogwild" and speeds(results, s)]
        fastest = max(others, key=lambda s: statistics.median(speeds(results, s)), default=None)
        ceiling = SETTINGS[0] if mine.task == A3C else None
        for other in (fastest, ceiling):
            if other is not None and speeds(results, other) and speeds(results, mine):
                rounds_of_both = zip(results[mine.name], results[other.name], strict=False)
                each = [
                    ours["steps_per_second"] / theirs["steps_per_second"]
                    for ours, theirs in rounds_of_both
                    if "failed" not in ours and "failed" not in theirs
                ]
                if not each:
                    continue
                middle, rounds = statistics.median(each), ", ".join(f"{ratio:.2f}" for ratio in each)
                lines.append(f"| {mine.name} | {other.name} | **{middle:.2f}** | {rounds} |")
    return "\n".join(lines)


def plot(results: dict[str, Any], path: Path) -> None:
    """A bar for every setting on Pong."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [s for s in SETTINGS if s.task in (A3C, PPO) and speeds(results, s)]
    shown.sort(key=lambda s: statistics.median(speeds(results, s)))
    figure, axes = pyplot.subplots(figsize=(10, 0.32 * len(shown) + 1), dpi=130)
    colours = ["C0" if s.library == "hogwild" else "0.7" for s in shown]
    axes.barh([s.name for s in shown], [statistics.median(speeds(results, s)) for s in shown], color=colours)
    axes.set(xlabel="steps per second, Pong, two cores")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path)


def write_report(results: dict[str, Any]) -> None:
    """Tables and figure."""
    for task in TASKS:
        if not any(speeds(results, setting) for setting in SETTINGS if setting.task == task):
            continue
        print(table(results, task))
        replace_table("peers.md", f"benchmarks/peers.py: {task}", table(results, task))
    print(ratios(results))
    replace_table("peers.md", "benchmarks/peers.py: ratios", ratios(results))
    plot(results, ROOT / "docs" / "images" / "peers.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=sorted({s.library for s in SETTINGS}), default=[])
    parser.add_argument("--task", choices=TASKS, nargs="+", default=TASKS, help="only what is compared on this")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warm-up", type=float, default=6)
    parser.add_argument("--report", action="store_true", help="measure nothing, write tables and figure again")
    given = parser.parse_args()
    results: dict[str, Any] = json.loads(OUTPUT.read_text())["results"] if OUTPUT.exists() else {}
    chosen = [s for s in SETTINGS if not given.only or s.library in given.only]
    chosen = [] if given.report else [s for s in chosen if s.task in given.task]
    for library in dict.fromkeys(s.library for s in chosen):
        python_of(library)
    for setting in chosen:
        results[setting.name] = []
    machine = {"cores": os.cpu_count(), "processor": platform.processor() or platform.machine()}
    for number in range(given.rounds):
        for setting in chosen:
            results[setting.name].append(measure(setting, given.seconds, given.warm_up))
            print(f"round {number + 1}  {setting.name}: {json.dumps(results[setting.name][-1])}", flush=True)
            OUTPUT.write_text(json.dumps({"machine": machine, "results": results}, indent=1, ensure_ascii=False) + "\n")
    write_report(results)


if __name__ == "__main__":
    main()
