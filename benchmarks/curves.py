"""Learning curves of benchmark runs: read, drawn, and made into the references that come with the package."""

import json
import subprocess
import sys
from typing import Any

import matplotlib
from pages import ROOT

from hogwild.api import Run
from hogwild.config.settings import Settings
from hogwild.reference import describe_agent, make_reference
from hogwild.runs.folder import read_json

matplotlib.use("Agg")
POINTS = 200  # of a curve


def curve_of(run: Run) -> list[tuple[int, float, float]]:
    """Steps, seconds and mean return of the last 100 games, at some points of a run."""
    rows = [row for row in run.metrics() if "episode/return_mean" in row]
    return [
        (row["progress/steps"], round(row["progress/seconds"], 1), round(row["episode/return_mean"], 3))
        for row in rows[:: max(1, len(rows) // POINTS)]
    ]


def record_of(run: Run, *words: str) -> dict[str, Any]:
    """All that is kept of a run: what it took, how it learned, and what a new process reaches with its agent."""
    play = [sys.executable, "-m", "hogwild", "eval", str(run.path), "--json", *words]
    printed = subprocess.run(play, check=True, stdout=subprocess.PIPE, text=True).stdout
    evaluation = json.loads(printed.splitlines()[-1])  # packages of environments print things, too
    meta, status = read_json(run.folder.meta), run.status
    return {
        "minutes": round(status["seconds"] / 60, 3),
        "steps": status["steps"],
        "steps_per_second": round(status["steps"] / status["seconds"]),
        "evaluation": evaluation,
        "curve": curve_of(run),
        "settings": {k: v for k, v in run.settings.flat().items() if k not in ("name", "runs")},
        "revision": (meta["git"] or {}).get("revision"),
        "machine": meta["machine"],
    }


def new_axes(title: str) -> tuple[Any, Any]:
    """A figure to draw curves over minutes in."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.6), dpi=140)
    axes.set(xlabel="minutes on two cores, no GPU", ylabel="mean return of the last 100 games")
    axes.set_title(title, loc="left", fontweight="bold")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def write_reference(env: str, results: list[dict[str, Any]]) -> None:
    """The reference of a game, by which other runs say where they stand."""
    settings = Settings().update(**results[0]["settings"])
    objective = settings.objective.objective
    reference = make_reference([[(steps, mean) for steps, _, mean in result["curve"]] for result in results])
    about = {
        "command": f"hogwild train {env}",
        "revision": results[0]["revision"],
        "agent": describe_agent(settings),
    }
    path = ROOT / "hogwild" / "config" / "references" / f"{env}-{objective}.json"
    path.write_text(json.dumps(about | reference) + "\n")
