"""Pong with the main combinations of objective and exchange: speed, and how far the same number of steps leads.

    python benchmarks/cells.py --seeds 3 --steps 500000

Everything is the default of the combination. Seeds are the outer loop, so that a machine that slows down for a while
slows down all alike. Writes `benchmarks/results/cells.json` after every run; `--resume` goes on where it stopped. At
the end, or with `--report` alone, writes the figure `docs/images/cells.png` and the table in `docs/results/cells.md`.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from pages import ROOT, replace_table

from hogwild.api import Run
from hogwild.runs.folder import read_json

OUTPUT = ROOT / "benchmarks" / "results" / "cells.json"
A3C, PPO, VTRACE = (["--objective", name] for name in ("a3c", "ppo", "vtrace"))
CELLS = {
    "a3c × weights, lock-free": A3C,
    "a3c × weights, taking turns": [*A3C, "--lock", "turns"],
    "ppo × weights": PPO,
    "a3c × gradients": [*A3C, "--exchange", "gradients"],
    "a3c × gradients, delayed": [*A3C, "--exchange", "gradients", "--accumulate", "4", "--pull-every", "4"],
    "ppo × trajectories": [*PPO, "--exchange", "trajectories"],
    "vtrace × trajectories": [*VTRACE, "--exchange", "trajectories"],
    "a2c × barrier": [*A3C, "--exchange", "barrier"],
}
RETURNS = (-19, -15, -10, 0, 10, 18)


def train(name: str, seed: int, steps: int, runs: str) -> dict[str, Any]:
    folder = f"{''.join(c if c.isalnum() else '-' for c in name)}-seed{seed}"
    flags = ["train", "pong", *CELLS[name], "--steps", str(steps), "--seed", str(seed)]
    place = ["--runs", runs, "--name", folder, "--overwrite", "--quiet"]
    subprocess.run([sys.executable, "-m", "hogwild", *flags, *place], check=True)
    run = Run(folder, runs)
    rows, meta = run.metrics(), read_json(run.folder.meta)
    whole = [row for row in rows if row.get("episode/count", 0) >= 20]
    reached = {}
    for wanted in RETURNS:
        row = next((r for r in whole if r["episode/return_mean"] >= wanted), None)
        if row:
            reached[str(wanted)] = {"steps": row["progress/steps"], "minutes": round(row["progress/seconds"] / 60, 2)}
    last = rows[-1]
    return {
        "cell": name,
        "seed": seed,
        "asked": steps,
        "steps": last["progress/steps"],
        "steps_per_second": round(last["progress/steps"] / last["progress/seconds"]),
        "return_mean": last["episode/return_mean"],
        "lag": round(statistics.mean(r["async/lag"] for r in rows if "async/lag" in r), 2),
        "waiting": round(statistics.mean(r.get("time/waiting", 0.0) for r in rows), 3),
        "reached": reached,
        "command": " ".join(["hogwild", *flags]),
        "revision": (meta["git"] or {}).get("revision"),
        "machine": meta["machine"],
        "curve": [
            [r["progress/steps"], round(r["progress/seconds"], 1), round(r["episode/return_mean"], 2)]
            for r in whole[:: max(1, len(whole) // 150)]
        ],
    }


def by_cell(results: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {name: [r for r in results if r["cell"] == name] for name in CELLS}


def table(results: list[dict[str, Any]]) -> str:
    lines = [
        "| | steps/s | lag | waiting | mean return at the end, by seed | median steps to −15 | to −10 | to 0 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, runs in by_cell(results).items():
        if not runs:
            continue
        speed, lag, waiting = (statistics.median(r[k] for r in runs) for k in ("steps_per_second", "lag", "waiting"))
        ends = ", ".join(f"{r['return_mean']:.1f}" for r in runs)
        reached = [_median_steps(runs, wanted) for wanted in ("-15", "-10", "0")]
        lines.append(f"| {name} | {speed:,.0f} | {lag:g} | {waiting:.0%} | {ends} | {' | '.join(reached)} |")
    return "\n".join(lines)


def _median_steps(runs: list[dict[str, Any]], wanted: str) -> str:
    """Median over all seeds; one that never got there counts as later than all others."""
    steps = sorted(r["reached"].get(wanted, {}).get("steps", float("inf")) for r in runs)
    middle = steps[len(steps) // 2]
    return "not reached" if middle == float("inf") else f"{middle:,.0f}"


def plot(results: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (steps_axes, minutes_axes) = pyplot.subplots(1, 2, figsize=(11, 4.2), dpi=130, sharey=True)
    for index, (name, runs) in enumerate(by_cell(results).items()):
        for number, run in enumerate(runs):
            label = name if number == 0 else None
            returns = [point[2] for point in run["curve"]]
            style = {"color": f"C{index}", "linewidth": 1.3, "alpha": 0.85, "label": label}
            steps_axes.plot([point[0] / 1e3 for point in run["curve"]], returns, **style)
            minutes_axes.plot([point[1] / 60 for point in run["curve"]], returns, **style)
    steps_axes.set(xlabel="thousand steps", ylabel="mean return of the last 100 games")
    minutes_axes.set(xlabel="minutes on two cores")
    steps_axes.legend(frameon=False, fontsize=8, loc="upper left")
    for axes in (steps_axes, minutes_axes):
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle("Pong, same steps, every way to share (a line for each seed)", x=0.01, ha="left", weight="bold")
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=500_000)
    parser.add_argument("--runs", default="runs/benchmark-cells")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    results = json.loads(OUTPUT.read_text()) if (arguments.resume or arguments.report) and OUTPUT.exists() else []
    if not arguments.report and any(r["asked"] != arguments.steps for r in results):
        parser.error(f"{OUTPUT.name} has runs with another number of steps; leave out --resume.")
    done = {(r["cell"], r["seed"]) for r in results}
    for seed in range(arguments.seeds if not arguments.report else 0):
        for name in CELLS:
            if (name, seed) in done:
                continue
            results.append(train(name, seed, arguments.steps, arguments.runs))
            print(json.dumps({k: v for k, v in results[-1].items() if k != "curve"}), flush=True)
            OUTPUT.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    plot(results, ROOT / "docs" / "images" / "cells.png")
    print(table(results))
    replace_table("cells.md", "benchmarks/cells.py", table(results))


if __name__ == "__main__":
    main()
