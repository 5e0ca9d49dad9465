"""One environment in ten is ten times slower: what does each exchange lose?

    python benchmarks/straggler.py

Ten workers with one environment each, whose step takes 20 ms of sleep, so that ten of them fit on two cores; in the
second round one worker's takes 200 ms. Writes `benchmarks/results/straggler.json`, and at the end, or with `--report`
alone, the table in `docs/results/cells.md`.
"""

import argparse
import json
import statistics

from pages import ROOT, replace_table
from stand_in import per_second, train

OUTPUT = ROOT / "benchmarks" / "results" / "straggler.json"
WORKERS, ROUNDS, SECONDS, PAUSE = 10, 3, 20.0, 0.02
EXCHANGES = ("weights", "gradients", "trajectories", "barrier")


def speed(exchange: str, straggler: bool) -> float:
    """Steps per second of all workers together."""
    flags = ["--workers", str(WORKERS), "--rollout-steps", "8", "--exchange", exchange]
    return round(per_second(train(SECONDS, PAUSE, flags, straggler), "progress/steps"), 1)


def table(results: dict[str, dict[str, list[float]]]) -> str:
    """Medians, and what the straggler costs."""
    lines = ["| exchange | steps/s, all alike | one in ten ten times slower | lost |", "|---|---|---|---|"]
    for exchange, speeds in results.items():
        alike, slow = (statistics.median(speeds[kind]) for kind in ("alike", "straggler"))
        lines.append(f"| {exchange} | {alike:,.0f} | {slow:,.0f} | {1 - slow / alike:.0%} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true")
    if parser.parse_args().report:
        results = json.loads(OUTPUT.read_text())
    else:
        results = {exchange: {"alike": [], "straggler": []} for exchange in EXCHANGES}
        for _ in range(ROUNDS):
            for exchange in EXCHANGES:
                results[exchange]["alike"].append(speed(exchange, straggler=False))
                results[exchange]["straggler"].append(speed(exchange, straggler=True))
                print(exchange, results[exchange], flush=True)
        OUTPUT.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))
    replace_table("cells.md", "benchmarks/straggler.py", table(results))


if __name__ == "__main__":
    main()
