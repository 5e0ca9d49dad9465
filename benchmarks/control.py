"""Box2D, MuJoCo and MiniGrid: how long it takes to solve, and how good agents are after so many steps.

    python benchmarks/control.py solve                    # LunarLander, BipedalWalker, three seeds each, or --seeds
    python benchmarks/control.py mujoco                   # five of MuJoCo's: a million steps each
    python benchmarks/control.py memory                   # MiniGrid's Memory, with and without a memory
    python benchmarks/control.py hardcore --seeds 0       # BipedalWalkerHardcore for an hour

Trains one run after the other with the defaults of `hogwild train`, then plays 100 episodes of each in a new process,
with the likeliest actions. Writes `benchmarks/results/control.json` after every run, and the tables in
`docs/results/control.md` with their figure; `--report` alone writes only these.
"""

import argparse
import json
import statistics
import subprocess
import sys
from typing import Any

from curves import new_axes, record_of
from pages import ROOT, replace_table

from hogwild.api import Run

OUTPUT = ROOT / "benchmarks" / "results" / "control.json"
MAZE = "minigrid:MiniGrid-MemoryS7-v0"
PARTS: dict[str, dict[str, str]] = {  # what is trained, by the name of its row
    "solve": {
        "LunarLander-v3": "LunarLander-v3 --steps 1_000_000",
        "LunarLanderContinuous-v3": "LunarLanderContinuous-v3 --steps 1_000_000",
        "BipedalWalker-v3": "BipedalWalker-v3 --backend envpool --steps 4_500_000",
    },
    "mujoco": {
        name: f"{name} --backend envpool --steps 1_000_000"
        for name in ("HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5", "Humanoid-v5")
    },
    "memory": {
        f"MemoryS7, {memory}": f"{MAZE} --backend envpool --memory {memory} --until-return 0.95"
        for memory in ("none", "gru", "lstm")
    },
    "hardcore": {"BipedalWalkerHardcore-v3": "BipedalWalkerHardcore-v3 --backend envpool --minutes 60"},
}
# Published for Stable-Baselines3 2 (rl-baselines3-zoo, benchmark.md): v3 of the environments, one run each.
PUBLISHED = {
    "HalfCheetah-v5": ("5,819 ± 664", "3,041 ± 157"),
    "Hopper-v5": ("2,410 ± 10", "733 ± 377"),
    "Walker2d-v5": ("3,479 ± 822", "582"),
    "Ant-v5": ("1,327", "−44"),
    "Humanoid-v5": ("–", "–"),
}


def measure(row: str, seed: int, words: str, runs: str) -> dict[str, Any]:
    """Train one run, and play it afterwards."""
    name = f"{row}-{seed}".lower().replace(", ", "-")
    place = ["--runs", runs, "--name", name, "--overwrite", "--quiet", "--seed", str(seed)]
    subprocess.run([sys.executable, "-m", "hogwild", "train", *words.split(), *place], check=True)
    return {"row": row, "seed": seed} | record_of(Run(name, runs), "--greedy")


def table(part: str, results: list[dict[str, Any]]) -> str:
    """One row for each environment, with all its seeds."""
    beside = " | SB3 PPO | SB3 A2C" if part == "mujoco" else ""
    head = f"| | minutes | steps | steps/s | mean return of 100 episodes, each seed{beside} |"
    lines = [head, "|---" * (5 + 2 * (part == "mujoco")) + "|"]
    for row in PARTS[part]:
        runs = [run for run in results if run["row"] == row]
        if not runs:
            continue
        digits = 2 if part == "memory" else 0
        means = ", ".join(f"**{run['evaluation']['mean']:,.{digits}f}**" for run in runs)
        published = f" | {' | '.join(PUBLISHED[row])}" if part == "mujoco" else ""
        lines.append(
            f"| {row} | {', '.join(format(run['minutes'], '.1f') for run in runs)} "
            f"| {', '.join(format(run['steps'], ',') for run in runs)} "
            f"| {statistics.median(run['steps_per_second'] for run in runs):,.0f} | {means}{published} |"
        )
    return "\n".join(lines)


def plot(part: str, results: list[dict[str, Any]]) -> None:
    """The learning curves of a part, one figure for each environment."""
    for row in PARTS[part]:
        runs = [run for run in results if run["row"] == row]
        if not runs:
            continue
        figure, axes = new_axes(row)
        for run in runs:
            axes.plot(
                [s / 60 for _, s, _ in run["curve"]], [mean for _, _, mean in run["curve"]], label=f"seed {run['seed']}"
            )
        axes.legend(frameon=False)
        figure.tight_layout()
        figure.savefig(ROOT / "docs" / "images" / f"{row.lower().replace(', ', '-')}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--only", nargs="+", help="rows")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--runs", default="runs/benchmark-control")
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    results: dict[str, list[dict[str, Any]]] = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    for row, words in {} if given.report else PARTS[given.part].items():
        for seed in given.seeds if not given.only or row in given.only else ():
            found = measure(row, seed, words, given.runs)
            kept = [r for r in results.get(given.part, []) if (r["row"], r["seed"]) != (row, seed)]
            results[given.part] = sorted([*kept, found], key=lambda run: (run["row"], run["seed"]))
            OUTPUT.write_text(json.dumps(results, indent=1) + "\n")
            print(table(given.part, results[given.part]), flush=True)
    for part, runs in results.items():
        replace_table("control.md", f"benchmarks/control.py: {part}", table(part, runs))
        plot(part, runs)


if __name__ == "__main__":
    main()
