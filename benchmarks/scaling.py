"""How speed grows with workers, environments and networks, and where each exchange saturates.

    python benchmarks/scaling.py              # all of it: about 40 minutes
    python benchmarks/scaling.py --only envs

Four parts. `workers`, `envs` and `networks` train Pong for real, all variants of a part in turns. `exchanges` trains
many workers on a stand-in whose step takes 20 ms and no processor, with a small and a large network. Writes
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
WORKERS: list[dict[str, Any]] = [{"workers": 1}, {"workers": 2}]
ENVS: list[dict[str, Any]] = [{"envs": n, "minibatches": 1} for n in (1, 2, 4, 8, 16, 32, 64, 128)]
NETWORKS: list[dict[str, Any]] = [
    {"encoder": encoder, "image_size": size, "image_width": width, "memory": memory}
    for encoder, size, width in (
        ("compact", 42, 40),
        ("universe", 42, 42),
        ("a3c", 84, 84),
        ("nature", 84, 84),
        ("a3g", 80, 80),
    )
    for memory in ("none", "gru", "lstm")
]
PARTS = {"workers": WORKERS, "envs": ENVS, "networks": NETWORKS}
PAUSE, CROWD = 0.02, (1, 4, 16, 32, 64)
EXCHANGES = {
    "weights, lock-free": ["--exchange", "weights"],
    "weights, taking turns": ["--exchange", "weights", "--lock", "turns"],
    "gradients": ["--exchange", "gradients"],
    "trajectories": ["--exchange", "trajectories"],
    "barrier": ["--exchange", "barrier"],
}
WIDTHS = {"small": 64, "large": 1024}  # of the two layers: 4,700 and 1,060,000 weights


def words(variant: dict[str, Any]) -> str:
    """A variant by its name in the tables."""
    if "encoder" in variant:
        memory = "" if variant["memory"] == "none" else f" + {variant['memory']}"
        return f"{variant['encoder']}{memory}, {variant['image_size']}×{variant['image_width']}"
    return ", ".join(str(value) for name, value in variant.items() if name != "minibatches")


def measure_on_pong(variant: dict[str, Any]) -> dict[str, float]:
    """Speed of training, microseconds of a worker's step in each section, and memory."""
    settings = layer("pong", objective="a3c", **variant)
    with closing(PausedTraining(resolve(settings))) as training:
        speed, report = training.measure(SECONDS)
        times = {
            k.removeprefix("time/"): v / report.steps * 1e6 for k, v in report.sums.items() if k.startswith("time/")
        }
        memory = training.private_megabytes()
    return {"steps_per_second": speed, "megabytes": memory} | {k: round(v, 1) for k, v in times.items()}


def measure_exchange(flags: list[str], workers: int, width: int) -> dict[str, float]:
    """Steps and updates per second of many workers, and how long they wait."""
    size = ["--workers", str(workers), "--encoder-size", str(width), "--rollout-steps", "16", "--objective", "a3c"]
    rows = train(20.0 + workers / 4, PAUSE, [*size, *flags])
    return {
        "steps_per_second": per_second(rows, "progress/steps"),
        "updates_per_second": per_second(rows, "progress/updates"),
        "waiting": statistics.mean(row.get("time/waiting", 0.0) for row in rows),
        "exchange": statistics.mean(row.get("time/exchange", 0.0) for row in rows),
        "lag": statistics.mean(row.get("async/lag", 0.0) for row in rows),
    }


def pong_table(part: str, results: dict[str, list[dict[str, float]]]) -> str:
    """Medians of a part on Pong."""
    sections = ("environment", "acting", "learning", "exchange")
    lines = [f"| {part} | steps/s | MB in each worker | µs a step: {', '.join(sections)} |", "|---|---|---|---|"]
    for name, runs in results.items():
        middle = {key: statistics.median(run.get(key, 0.0) for run in runs) for key in runs[0]}
        times = ", ".join(f"{middle.get(section, 0.0):.0f}" for section in sections)
        lines.append(f"| {name} | {middle['steps_per_second']:,.0f} | {middle['megabytes']:.0f} | {times} |")
    return "\n".join(lines)


def exchange_table(results: dict[str, dict[str, float]]) -> str:
    """Speed in parts of what so many workers could do if nothing held them up."""
    lines = [f"| | {' | '.join(f'{n} workers' for n in CROWD)} |", "|---" * (len(CROWD) + 1) + "|"]
    for size in WIDTHS:
        for exchange in EXCHANGES:
            found = [results.get(f"{exchange}, {size}, {workers}") for workers in CROWD]
            cells = [
                f"{each['steps_per_second'] * PAUSE / workers:.0%} (lag {each['lag']:.1f})" if each else "–"
                for workers, each in zip(CROWD, found, strict=True)
            ]
            lines.append(f"| {exchange}, {size} network | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=(*PARTS, "exchanges"))
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    results: dict[str, Any] = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    chosen = [] if given.report else [given.only] if given.only else [*PARTS, "exchanges"]

    def keep(part: str, name: str, found: Any) -> None:
        results[part][name] = found
        print(part, name, json.dumps(found), flush=True)
        OUTPUT.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")

    for part in chosen:
        results[part] = {}
        if part == "exchanges":
            for size, width in WIDTHS.items():
                for workers in CROWD:
                    for exchange, flags in EXCHANGES.items():
                        name = f"{exchange}, {size}, {workers}"
                        keep(part, name, measure_exchange(flags, workers, width))
            continue
        for _ in range(ROUNDS):
            for variant in PARTS[part]:
                name = words(variant)
                keep(part, name, [*results[part].get(name, []), measure_on_pong(variant)])
    for part in results:
        text = exchange_table(results[part]) if part == "exchanges" else pong_table(part, results[part])
        print(text)
        replace_table("scaling.md", f"benchmarks/scaling.py: {part}", text)


if __name__ == "__main__":
    main()
