"""Several games with the same settings, those that every Atari game has: learning curves, and memory over time.

    python benchmarks/games.py --minutes 30 breakout boxing freeway

Trains one game after the other, each until the time is over or it is as good as solved, then plays 100 whole games of
it in a new process. Writes
`benchmarks/results/games.json` after every game; at the end, or with `--report` alone, the figure
`docs/images/games.png`, the table in `docs/results/games.md`, and the references that come with the package.
"""

import argparse
import json
import subprocess
import sys
import time
from typing import Any

import psutil
from curves import record_of, write_reference
from pages import ROOT, replace_table

from hogwild.api import Run

OUTPUT = ROOT / "benchmarks" / "results" / "games.json"
SAMPLE_SECONDS = 20.0
ENOUGH = {"boxing": 98.0, "freeway": 33.0}  # mean returns at which a game has no more to teach: 100 and 34 are the most


def train(game: str, minutes: float, runs: str) -> list[tuple[float, list[float]]]:
    """Train; answers the memory that each worker had to itself, in MB, every twenty seconds."""
    command = [sys.executable, "-m", "hogwild", "train", game, "--minutes", str(minutes)]
    place = ["--runs", runs, "--name", game, "--overwrite", "--quiet"]
    enough = ["--until-return", str(ENOUGH[game])] if game in ENOUGH else []
    process = subprocess.Popen([*command, *place, *enough])
    started, memory = time.monotonic(), []
    while process.poll() is None:
        time.sleep(SAMPLE_SECONDS)
        try:
            workers = psutil.Process(process.pid).children()
            used = [round(each.memory_full_info().uss / 1e6, 1) for each in workers if each.cpu_times().user > 5]
        except psutil.Error:  # it has just ended
            break
        memory.append((round(time.monotonic() - started), used))
    if process.wait() != 0:
        raise SystemExit(f"hogwild train {game} failed.")
    return memory


def measure(game: str, minutes: float, runs: str) -> dict[str, Any]:
    """Train one game, and play it afterwards."""
    memory = train(game, minutes, runs)
    return {"game": game, "memory": memory} | record_of(Run(game, runs))


def table(results: dict[str, dict[str, Any]]) -> str:
    """One row for each game."""
    head = (
        "| game | minutes | steps | steps/s | mean return of 100 games | MB in a worker, after 1 minute | at the end |"
    )
    lines = [head, "|---|---|---|---|---|---|---|"]
    for game, found in results.items():
        played, used = found["evaluation"], [max(each) for _, each in found["memory"] if each]
        cells = (
            game,
            f"{found['minutes']:.0f}",
            f"{found['steps']:,}",
            f"{found['steps_per_second']:,}",
            f"**{played['mean']:.1f}** ± {played['interval_95']:.1f}",
            f"{used[min(2, len(used) - 1)]:.0f}" if used else "–",
            f"{used[-1]:.0f}" if used else "–",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def plot(results: dict[str, dict[str, Any]]) -> None:
    """A panel for each game."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(results), figsize=(4 * len(results), 3.2), dpi=130, squeeze=False)
    for axes, (game, found) in zip(panels[0], results.items(), strict=True):
        axes.plot([seconds / 60 for _, seconds, _ in found["curve"]], [mean for _, _, mean in found["curve"]])
        axes.set(xlabel="minutes on two cores, no GPU")
        axes.set_title(game, loc="left", fontweight="bold")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0][0].set(ylabel="mean return of the last 100 games")
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "images" / "games.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", default=["breakout", "boxing", "freeway"])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--runs", default="runs/benchmark-games")
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    results: dict[str, dict[str, Any]] = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    for game in [] if given.report else given.games:
        results[game] = measure(game, given.minutes, given.runs)
        OUTPUT.write_text(json.dumps(results, indent=1) + "\n")
        print(table(results), flush=True)
    plot(results)
    for game, found in results.items():
        write_reference(game, [found])
    replace_table("games.md", "benchmarks/games.py", table(results))


if __name__ == "__main__":
    main()
