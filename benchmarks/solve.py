"""How long until an agent is good: minutes of training to the first checkpoint that 100 whole games confirm.

    python benchmarks/solve.py --seeds 10 11 12 13 14 --goal 20 --minutes 6

Trains as a user would, keeping a checkpoint every five seconds. Afterwards, in new processes, looks for the first one
that `hogwild eval --greedy` confirms: bisecting with 20 games each, then going forward with 100. What is found is a
checkpoint whose evaluation has the goal, so it is never too early; an earlier one may have been missed. Then 100 more
games of it, and of the last one, whose actions are sampled. Flags after `--` go to `hogwild train`. Writes
`benchmarks/results/solve-<env>.json` after every seed; at the end, or with `--report` alone, the figure
`docs/images/<env>.png`, the table in `docs/results/<env>.md`, and the reference that comes with the package, by which
other runs say how long they will take.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from curves import curve_of, new_axes, write_reference
from pages import ROOT, replace_table

from hogwild.api import Run
from hogwild.runs.checkpoint import list_checkpoints, read_checkpoint
from hogwild.runs.folder import read_json

SCREEN, CONFIRM = 20, 100  # games


def hogwild(*words: str) -> str:
    command = [sys.executable, "-m", "hogwild", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Checkpoints:
    """The checkpoints of a run in their order, and what evaluations said of them."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.paths = list_checkpoints(run.folder.checkpoints)
        self.evaluations: list[dict[str, Any]] = []

    def minutes(self, index: int) -> float:
        """Minutes of training when it was written."""
        return float(read_checkpoint(self.paths[index]).state["progress"]["seconds"]) / 60

    def mean(self, index: int, games: int, how: str = "--greedy") -> float:
        """Mean return of whole games, played in a new process."""
        step = str(int(self.paths[index].name.removeprefix("step-")))
        which = ["--checkpoint", step, "--episodes", str(games), how]
        figures = json.loads(hogwild("eval", str(self.run.path), "--json", *which))
        kept = ("steps", "episodes", "mean", "interval_95", "median", "worst", "actions")
        self.evaluations.append({name: figures[name] for name in kept} | {"minutes": round(self.minutes(index), 3)})
        words = f"{figures['mean']:.2f} in {games} games, {figures['actions']}"
        print(f"  {self.minutes(index):.2f} min: {words}", flush=True)
        return float(figures["mean"])

    def first_good(self, goal: float) -> int | None:
        """The first checkpoint found whose 100 games have the goal."""
        low, high = 0, len(self.paths) - 1
        while low < high:
            middle = (low + high) // 2
            if self.mean(middle, SCREEN) >= goal:
                high = middle
            else:
                low = middle + 1
        return next((index for index in range(high, len(self.paths)) if self.mean(index, CONFIRM) >= goal), None)


def solve(env: str, seed: int, goal: float, minutes: float, runs: str, flags: list[str]) -> dict[str, Any]:
    """Train with one seed, and find when it was good."""
    name = f"solve-{env}-{seed}"
    keep = ["--checkpoint-seconds", "5", "--keep-checkpoints", "100000"]
    place = ["--runs", runs, "--name", name, "--overwrite", "--quiet"]
    hogwild("train", env, "--seed", str(seed), "--minutes", str(minutes), *keep, *place, *flags)
    run = Run(name, runs)
    checkpoints, meta = Checkpoints(run), read_json(run.folder.meta)
    found = checkpoints.first_good(goal)
    sampled = {
        name: checkpoints.mean(index, CONFIRM, "--no-greedy")
        for name, index in (("found", found), ("last", len(checkpoints.paths) - 1))
        if index is not None
    }
    status = run.status
    return {
        "seed": seed,
        "goal": goal,
        "minutes": None if found is None else round(checkpoints.minutes(found), 2),
        "steps": None if found is None else int(checkpoints.paths[found].name.removeprefix("step-")),
        "steps_per_second": round(status["steps"] / status["seconds"]),
        "sampled": sampled,
        "evaluations": checkpoints.evaluations,
        "curve": curve_of(run),
        "settings": {k: v for k, v in run.settings.flat().items() if k not in ("name", "runs")},
        "revision": (meta["git"] or {}).get("revision"),
        "machine": meta["machine"],
    }


def table(results: list[dict[str, Any]]) -> str:
    """One row for each seed."""
    head = "| seed | minutes | steps | steps/s | 100 games, greedy | the same, sampled | at the end, sampled |"
    lines = [head, "|---" * 7 + "|"]
    for result in results:
        if result["minutes"] is None:
            found = ["–", "–", f"{result['steps_per_second']:,}", "–", "–"]
        else:
            greedy = [each for each in result["evaluations"] if each["actions"] == "greedy"][-1]
            words = f"{greedy['mean']:.2f} ± {greedy['interval_95']:.2f}"
            speed = f"{result['steps_per_second']:,}"
            found = [f"**{result['minutes']:.2f}**", f"{result['steps']:,}", speed, words]
            found.append(f"{result['sampled']['found']:.2f}")
        lines.append(f"| {result['seed']} | {' | '.join(found)} | {result['sampled']['last']:.2f} |")
    return "\n".join(lines)


def report(env: str, results: list[dict[str, Any]]) -> None:
    """Figure, table and reference."""
    figure, axes = new_axes(f"hogwild train {env}")
    for result in results:
        minutes = [seconds / 60 for _, seconds, _ in result["curve"]]
        (line,) = axes.plot(minutes, [mean for _, _, mean in result["curve"]], label=f"seed {result['seed']}")
        if result["minutes"] is not None:
            axes.plot(result["minutes"], result["goal"], "o", color=line.get_color())
    axes.set_title(f"● 100 greedy games of a checkpoint: {results[0]['goal']:g} or more", loc="right", fontsize=9)
    axes.legend(frameon=False, loc="lower right")
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "images" / f"{env}.png")
    write_reference(env, results)
    replace_table(f"{env}.md", "benchmarks/solve.py", table(results))
    times = [result["minutes"] or float("inf") for result in results]
    print(f"median {statistics.median(times):.2f} minutes, longest {max(times):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="pong")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--goal", type=float, default=20.0)
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--runs", default="runs/benchmark-solve")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("flags", nargs="*", help="after --: flags for hogwild train")
    given = parser.parse_args()
    output = Path(ROOT / "benchmarks" / "results" / f"solve-{given.env}.json")
    results: list[dict[str, Any]] = json.loads(output.read_text()) if given.report else []
    for seed in [] if given.report else given.seeds:
        results.append(solve(given.env, seed, given.goal, given.minutes, given.runs, given.flags))
        shown = ("seed", "minutes", "steps", "steps_per_second")
        print(json.dumps({name: results[-1][name] for name in shown}), flush=True)
        output.write_text(json.dumps(results, indent=1) + "\n")
    report(given.env, results)


if __name__ == "__main__":
    main()
