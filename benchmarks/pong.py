"""Pong from nothing, several seeds: minutes and steps to each mean return, and 100 whole games at the end.

    python benchmarks/pong.py --seeds 3

Runs `hogwild train pong` as a user would, then evaluates the saved checkpoint in a new process, and writes
`benchmarks/results/pong.json`, `docs/images/pong.png`, and the reference that comes with the package, by which other
runs say how long they will take.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from hogwild.api import Run
from hogwild.reference import make_reference
from hogwild.runs.folder import read_json

ROOT = Path(__file__).parent.parent
RETURNS = (0, 10, 15, 18, 19, 20)


def hogwild(*words: str) -> str:
    command = [sys.executable, "-m", "hogwild", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def train(seed: int, runs: str, extra: list[str]) -> dict[str, Any]:
    name = f"pong-{seed}"
    hogwild("train", "pong", "--seed", str(seed), "--runs", runs, "--name", name, "--overwrite", "--quiet", *extra)
    evaluation = json.loads(hogwild("eval", name, "--runs", runs, "--json"))
    run = Run(name, runs)
    rows, meta = run.metrics(), read_json(run.folder.meta)
    reached = {}
    for wanted in RETURNS:
        row = next((r for r in rows if r.get("episode/return_mean", -99) >= wanted and r["episode/count"] >= 100), None)
        if row:
            reached[wanted] = {"steps": row["progress/steps"], "minutes": round(row["progress/seconds"] / 60, 2)}
    last = rows[-1]
    return {
        "seed": seed,
        "steps": last["progress/steps"],
        "minutes": round(last["progress/seconds"] / 60, 2),
        "steps_per_second": round(last["progress/steps"] / last["progress/seconds"]),
        "evaluation": evaluation,
        "reached": reached,
        "command": meta["command"],
        "revision": (meta["git"] or {}).get("revision"),
        "machine": meta["machine"],
        "curve": [
            [r["progress/steps"], round(r["progress/seconds"], 1), round(r["episode/return_mean"], 3)]
            for r in rows[:: max(1, len(rows) // 200)]
            if "episode/return_mean" in r
        ],
    }


def plot(results: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.6), dpi=140)
    for result in results:
        minutes = [seconds / 60 for _, seconds, _ in result["curve"]]
        axes.plot(minutes, [value for _, _, value in result["curve"]], label=f"seed {result['seed']}", linewidth=1.8)
    axes.axhline(18, color="grey", linewidth=0.8, linestyle=":")
    axes.set(xlabel="minutes on two cores, no GPU", ylabel="mean return of the last 100 games", ylim=(-22, 22))
    axes.set_title("hogwild train pong", loc="left", fontweight="bold")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--runs", default="runs/benchmark-pong")
    arguments, extra = parser.parse_known_args()
    output = ROOT / "benchmarks" / "results" / "pong.json"
    output.parent.mkdir(exist_ok=True)
    results = []
    for seed in range(arguments.seeds):
        results.append(train(seed, arguments.runs, extra))
        shown = {k: v for k, v in results[-1].items() if k != "curve"}
        print(json.dumps(shown), flush=True)
        output.write_text(json.dumps(results, indent=1) + "\n")
        plot(results, ROOT / "docs" / "images" / "pong.png")
        write_reference(results, Run("pong-0", arguments.runs).settings.objective.objective)


def write_reference(results: list[dict[str, Any]], objective: str) -> None:
    reference = make_reference([[(steps, value) for steps, _, value in result["curve"]] for result in results])
    about = {"command": "hogwild train pong", "revision": results[0]["revision"]}
    path = ROOT / "hogwild" / "config" / "references" / f"pong-{objective}.json"
    path.write_text(json.dumps(about | reference) + "\n")


if __name__ == "__main__":
    main()
