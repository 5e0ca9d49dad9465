"""How speed grows with workers, environments and networks, and where each exchange saturates.

    python benchmarks/scaling.py                 # all of it: about an hour
    python benchmarks/scaling.py --only envs     # one part

`workers`, `envs` and `networks` train Pong with A3C, all variants of a part in turns. `exchanges` trains up to 64
workers on a stand-in whose step takes 40 ms and no processor, with a small and a large network. Writes
`benchmarks/results/scaling.json` after every measurement, and at the end, or with `--report` alone, the tables in
`docs/results/scaling.md`.
"""

import argparse
import json
import statistics
from contextlib import closing
from typing import Any

from pages import ROOT, replace_table
from stand_in import per_second, train

from hogwild.bench import PausedTraining
from hogwild.resolve import layer, resolve

OUTPUT = ROOT / "benchmarks" / "results" / "scaling.json"
SECONDS, ROUNDS = 6.0, 3
NETWORKS = (("compact", 70, 80), ("universe", 42, 42), ("a3c", 84, 84), ("nature", 84, 84), ("a3g", 80, 80))
ON_PONG: dict[str, dict[str, dict[str, Any]]] = {
    "workers": {str(n): {"workers": n} for n in (1, 2)},
    "envs": {str(n): {"envs": n, "minibatches": 1} for n in (1, 2, 4, 8, 16, 32, 64, 128)},
    "networks": {
        f"{encoder}, {height}×{width}, memory {memory}": {
            "encoder": encoder,
            "image_size": height,
            "image_width": width,
            "memory": memory,
        }
        for encoder, height, width in NETWORKS
        for memory in ("none", "gru", "lstm")
    },
}
SECTIONS = ("environment", "acting", "learning", "exchange")
PAUSE, ROLLOUT, CROWD = 0.04, 8, (4, 16, 64)
WIDTHS = {"small": 64, "large": 1024}  # of the network's two layers: 4,700 and 1,060,000 weights
EXCHANGES = {
    "weights, lock-free": ["--exchange", "weights"],
    "weights, taking turns": ["--exchange", "weights", "--lock", "turns"],
    "gradients": ["--exchange", "gradients"],
    "trajectories": ["--exchange", "trajectories"],
    "barrier": ["--exchange", "barrier"],
}


def measure_on_pong(variant: dict[str, Any]) -> dict[str, float]:
    """Speed of training, microseconds of a worker's step in each section, and memory."""
    with closing(PausedTraining(resolve(layer("pong", objective="a3c", **variant)))) as training:
        speed, report = training.measure(SECONDS)
        memory = training.private_megabytes()
    times = {name: report.sums.get(f"time/{name}", 0.0) / report.steps * 1e6 for name in SECTIONS}
    return {"steps_per_second": round(speed, 1), "megabytes": round(memory)} | {
        k: round(v, 1) for k, v in times.items()
    }


def measure_exchange(flags: list[str], workers: int, width: int) -> dict[str, float]:
    """Speed of many workers beside what they could do, and what an update costs them."""
    size = ["--workers", str(workers), "--encoder-size", str(width), "--rollout-steps", str(ROLLOUT)]
    rows = train(20.0 + workers / 4, PAUSE, [*size, "--objective", "a3c", *flags])
    updates = per_second(rows, "progress/updates")

    def share(name: str) -> float:
        return statistics.mean(row.get(name, 0.0) for row in rows)

    return {
        "efficiency": per_second(rows, "progress/steps") * PAUSE / workers,
        "updates_per_second": updates,
        "exchange_ms": share("time/exchange") * workers / updates * 1e3,
        "waiting": share("time/waiting"),
        "lock_wait_ms": share("async/lock_wait"),
        "lag": share("async/lag"),
    }


def pong_table(part: str, results: dict[str, list[dict[str, float]]]) -> str:
    """Medians of a part on Pong."""
    lines = [f"| {part} | steps/s | {' | '.join(SECTIONS)} | MB in a worker |", "|---" * (len(SECTIONS) + 3) + "|"]
    for name, runs in results.items():
        middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        times = " | ".join(f"{middle[section]:.0f}" for section in SECTIONS)
        lines.append(f"| {name} | **{middle['steps_per_second']:,.0f}** | {times} | {middle['megabytes']:.0f} |")
    return "\n".join(lines)


def exchange_table(results: dict[str, dict[str, float]]) -> str:
    """Speed in parts of what so many workers could do if nothing held them up, and what an update costs."""
    lines = [f"| | {' | '.join(f'{n} workers' for n in CROWD)} |", "|---" * (len(CROWD) + 1) + "|"]
    for size in WIDTHS:
        for exchange in EXCHANGES:
            found = [results.get(f"{exchange}, {size}, {workers}") for workers in CROWD]
            cells = [
                f"**{each['efficiency']:.0%}**, {each['exchange_ms']:.1f} ms, lag {each['lag']:.1f}" if each else "–"
                for each in found
            ]
            lines.append(f"| {exchange}, {size} network | {' | '.join(cells)} |")
    return "\n".join(lines)


class Results:
    """What was measured, written down at once."""

    def __init__(self) -> None:
        self.parts: dict[str, Any] = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}

    def keep(self, part: str, name: str, found: Any) -> None:
        """Write down one measurement."""
        self.parts[part][name] = found
        print(part, name, json.dumps(found), flush=True)
        OUTPUT.write_text(json.dumps(self.parts, indent=1, ensure_ascii=False) + "\n")

    def measure(self, part: str) -> None:
        """Measure all of a part anew."""
        self.parts[part] = {}
        if part == "exchanges":
            for workers in CROWD:
                for size, width in WIDTHS.items():
                    for exchange, flags in EXCHANGES.items():
                        name = f"{exchange}, {size}, {workers}"
                        self.keep(part, name, measure_exchange(flags, workers, width))
            return
        for _ in range(ROUNDS):
            for name, variant in ON_PONG[part].items():
                self.keep(part, name, [*self.parts[part].get(name, []), measure_on_pong(variant)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=(*ON_PONG, "exchanges"))
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    results = Results()
    for part in [] if given.report else [given.only] if given.only else [*ON_PONG, "exchanges"]:
        results.measure(part)
    for part, found in results.parts.items():
        text = exchange_table(found) if part == "exchanges" else pong_table(part, found)
        print(text)
        replace_table("scaling.md", f"benchmarks/scaling.py: {part}", text)


if __name__ == "__main__":
    main()
