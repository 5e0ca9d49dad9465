"""Training speed beside other libraries: the same game, the same cores, in turns.

    make bench-peers                                  # installs the peers, three rounds, about an hour
    python benchmarks/peers.py --rounds 1 sb3 hogwild   # some of them

Every library gets a virtual environment of its own under `.peers/`. All settings of all libraries are run once in each
round, one after the other, so that a machine that slows down for a while slows down all alike. What counts are steps
that were learned from, after a warm-up, by the clock. Writes `benchmarks/results/peers.json` after every run, and at
the end, or with `--report` alone, the figure `docs/images/peers.png` and the table in `docs/results/peers.md`.
"""

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from pages import ROOT, replace_table

OUTPUT = ROOT / "benchmarks" / "results" / "peers.json"
TORCH = "torch==2.13.0"
REQUIREMENTS = {
    "sb3": [TORCH, "stable-baselines3==2.9.2", "ale-py==0.12.1", "opencv-python-headless"],
    "tianshou": [TORCH, "tianshou==2.0.1", "envpool==1.2.5"],
    "sample_factory": [TORCH, "sample-factory==2.1.1", "ale-py==0.12.1", "opencv-python-headless"],
    "rllib": [TORCH, "ray[rllib]==2.60.0", "ale-py==0.12.1", "opencv-python-headless"],
}
STANDARD = ["--image-size", "84", "--image-width", "84"]


@dataclass(frozen=True)
class Setting:
    """One way to run one library."""

    library: str  # its script is peer_<library>.py
    what: str
    network: str
    flags: list[str]

    @property
    def name(self) -> str:
        """What it is called in the results."""
        return f"{self.library}: {self.what}"


SETTINGS = [
    Setting("hogwild", "a3c, as it comes", "42×40, compact", ["--objective", "a3c"]),
    Setting("hogwild", "a3c, 84×84", "84×84, a3c", ["--objective", "a3c", *STANDARD, "--encoder", "a3c"]),
    Setting(
        "hogwild", "a3c, a peer's network", "84×84, nature", ["--objective", "a3c", *STANDARD, "--encoder", "nature"]
    ),
    Setting("hogwild", "ppo, as it comes", "42×40, compact", ["--objective", "ppo"]),
    Setting("hogwild", "ppo, 84×84", "84×84, a3c", ["--objective", "ppo", *STANDARD, "--encoder", "a3c"]),
    Setting(
        "hogwild",
        "ppo, a peer's network, 4 passes",
        "84×84, nature",
        ["--objective", "ppo", *STANDARD, "--encoder", "nature", "--epochs", "4"],
    ),
    Setting("sb3", "A2C, RL Zoo's: 16 environments", "84×84, nature", ["--algorithm", "a2c", "--envs", "16"]),
    Setting("sb3", "A2C, its best: 64 environments", "84×84, nature", ["--algorithm", "a2c", "--envs", "64"]),
    Setting("sb3", "PPO, RL Zoo's: 8 environments", "84×84, nature", ["--algorithm", "ppo", "--envs", "8"]),
    Setting("sb3", "PPO, its best: 16 environments", "84×84, nature", ["--algorithm", "ppo", "--envs", "16"]),
    Setting("rllib", "IMPALA, its example: 2 × 5", "64×64, its own", ["--runners", "2", "--envs", "5"]),
    Setting("rllib", "IMPALA, its best: 1 × 16", "64×64, its own", ["--runners", "1", "--envs", "16"]),
    Setting("rllib", "APPO: 2 × 10", "64×64, its own", ["--algorithm", "appo", "--runners", "2", "--envs", "10"]),
    Setting("tianshou", "A2C on EnvPool: 16", "84×84, nature", ["--algorithm", "a2c", "--envs", "16"]),
    Setting("tianshou", "PPO on EnvPool, its example: 10", "84×84, nature", ["--algorithm", "ppo", "--envs", "10"]),
    Setting("tianshou", "PPO on EnvPool, its best: 32", "84×84, nature", ["--algorithm", "ppo", "--envs", "32"]),
    Setting("sample_factory", "APPO, its default: 8 × 1", "84×84, its own", ["--workers", "8", "--envs", "1"]),
    Setting(
        "sample_factory",
        "APPO, its best: 2 × 8, asynchronous",
        "84×84, its own",
        ["--workers", "2", "--envs", "8", "--asynchronous"],
    ),
    Setting("hogwild", "CartPole, a3c", "64-64 mlp", ["--env", "CartPole-v1", "--objective", "a3c"]),
    Setting("sb3", "CartPole, A2C: 8 environments", "64-64 mlp", ["--env", "CartPole-v1", "--envs", "8"]),
    Setting("sb3", "CartPole, A2C: 64 environments", "64-64 mlp", ["--env", "CartPole-v1", "--envs", "64"]),
]


def python_of(library: str) -> str:
    """The interpreter of a library's virtual environment, made if need be."""
    if library == "hogwild":
        return sys.executable
    folder = ROOT / ".peers" / library
    done = folder / "installed"
    if not done.exists():
        print(f"installing {library} …", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(folder / "bin" / "pip"), "install", "--quiet", *REQUIREMENTS[library]]
        subprocess.run(install, check=True)
        done.touch()
    return str(folder / "bin" / "python")


def measure(setting: Setting, seconds: float, warm_up: float) -> dict[str, Any]:
    """Run one setting; steps per second, cores kept busy and memory of all its processes."""
    script = Path(__file__).parent / "peer_scripts" / f"peer_{setting.library}.py"
    command = [python_of(setting.library), str(script), *setting.flags]
    command += ["--seconds", str(seconds), "--warm-up", str(warm_up)]
    # As the libraries come: they choose their threads themselves. Ours starts a process for every core.
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    memory = _watch(process, deadline=time.monotonic() + 300 + seconds + warm_up)
    output, errors = process.communicate()
    _end_group(process.pid)
    line = next((line for line in reversed(output.splitlines()) if line.startswith("{")), None)
    if line is None:
        return {"failed": (errors or output).strip().splitlines()[-3:]}
    return json.loads(line) | {"megabytes": round(memory)}


def _watch(process: "subprocess.Popen[str]", deadline: float) -> float:
    """Wait for the end; answers the most memory that all processes together had to themselves, in MB."""
    most = 0.0
    while process.poll() is None:
        time.sleep(2.0)
        try:
            family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
            most = max(most, sum(each.memory_full_info().uss for each in family) / 1e6)
        except psutil.Error:
            continue
        if time.monotonic() > deadline:
            _end_group(process.pid)
    return most


def _end_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def table(results: dict[str, Any]) -> str:
    """All settings, the fastest first."""
    fastest: list[tuple[float, str]] = []
    for setting in SETTINGS:
        runs = [run for run in results.get(setting.name, []) if "failed" not in run]
        if runs:
            speeds = [run["steps_per_second"] for run in runs]
            memory = statistics.median(run["megabytes"] for run in runs)
            each = ", ".join(f"{speed:,.0f}" for speed in speeds)
            middle = statistics.median(speeds)
            cells = (setting.library, setting.what, setting.network, f"**{middle:,.0f}**", each, f"{memory:,.0f}")
            fastest.append((middle, f"| {' | '.join(cells)} |"))
    head = "| | setting | pictures, network | steps/s, median | every round | MB |\n|---|---|---|---|---|---|"
    return "\n".join([head, *(row for _, row in sorted(fastest, reverse=True))])


def plot(results: dict[str, Any], path: Path) -> None:
    """A bar for every setting on Pong."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    bars = []
    for setting in SETTINGS:
        speeds = [run["steps_per_second"] for run in results.get(setting.name, []) if "failed" not in run]
        if speeds and "CartPole" not in setting.what:
            bars.append((statistics.median(speeds), f"{setting.name} ({setting.network})", setting.library))
    bars.sort()
    figure, axes = pyplot.subplots(figsize=(10, 0.32 * len(bars) + 1), dpi=130)
    colours = ["C0" if library == "hogwild" else "0.7" for _, _, library in bars]
    axes.barh([name for _, name, _ in bars], [speed for speed, _, _ in bars], color=colours)
    axes.set(xlabel="steps per second on two cores, Pong")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", help="hogwild, sb3, rllib, tianshou, sample_factory; none: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--warm-up", type=float, default=12)
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    saved = json.loads(OUTPUT.read_text()) if given.report else {}
    results: dict[str, Any] = saved.get("results", {})
    chosen = [s for s in SETTINGS if not given.libraries or s.library in given.libraries]
    for library in dict.fromkeys(s.library for s in chosen if not given.report):
        python_of(library)
    for number in range(given.rounds if not given.report else 0):
        for setting in chosen:
            results.setdefault(setting.name, []).append(measure(setting, given.seconds, given.warm_up))
            print(f"round {number + 1}  {setting.name:<60} {json.dumps(results[setting.name][-1])}", flush=True)
            machine = {"cores": os.cpu_count(), "processor": platform.processor() or platform.machine()}
            OUTPUT.write_text(json.dumps({"machine": machine, "results": results}, indent=1, ensure_ascii=False) + "\n")
    plot(results, ROOT / "docs" / "images" / "peers.png")
    print(table(results))
    replace_table("peers.md", "benchmarks/peers.py", table(results))


if __name__ == "__main__":
    main()
