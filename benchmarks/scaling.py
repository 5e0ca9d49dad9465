"""How speed grows with workers, environments and networks, and where each exchange saturates.

    python benchmarks/scaling.py                 # all of it: about 40 minutes
    python benchmarks/scaling.py --only envs     # one part

`workers`, `envs` and `networks` train Pong with A3C, all variants of a part in turns. `costs` times the steps of an
exchange by themselves, for several numbers of weights. `exchanges` trains up to 64 workers on a stand-in whose step
takes 40 ms and no processor, with a small and a large network. Writes `benchmarks/results/scaling.json` after every
measurement, and at the end, or with `--report` alone, the tables in `docs/results/scaling.md`.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import torch
from pages import ROOT, replace_table
from stand_in import per_second, train

from hogwild.bench import PausedTraining
from hogwild.exchanges.file_lock import FileLock
from hogwild.exchanges.make import make_link, make_servers, make_shared
from hogwild.exchanges.slots import FREE, STATE
from hogwild.exchanges.tape import Lock
from hogwild.learning import Gradients
from hogwild.policies.policy import Policy
from hogwild.resolve import layer, resolve
from hogwild.rollout import Played
from hogwild.turns import Turn

OUTPUT = ROOT / "benchmarks" / "results" / "scaling.json"
SECONDS, ROUNDS = 5.0, 3
NETWORKS = (("compact", 70, 80), ("universe", 42, 42), ("a3c", 70, 80), ("nature", 84, 84), ("a3g", 80, 80))
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
PARTS = (*ON_PONG, "costs", "exchanges")
COST_WIDTHS, CALLS = (64, 256, 1024, 2048), 200
COSTS = {
    "pull": "copy the weights",
    "lock": "take the lock and let go of it",
    "apply": "apply a gradient (Adam)",
    "send": "send a gradient to the updater",
    "serve": "the updater: take it, apply it, free its slot",
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


def measure_costs(width: int) -> dict[str, float]:
    """Microseconds of each step of an exchange with nobody else there, and the number of weights."""
    found: dict[str, float] = {}
    for exchange in ("weights", "gradients"):
        resolved = resolve(layer("CartPole-v1", exchange=exchange, encoder_size=width, objective="a3c"))
        shared = make_shared(resolved.settings, Policy(resolved.spec, resolved.settings.policy))
        shared.share()
        with closing(FileLock()) as file:
            lock = Lock(file)
            link = make_link(resolved.settings, shared, 0, lock)
            weights = torch.zeros_like(shared.weights)
            flat = torch.full((shared.layout.num_parameters,), 1e-3)
            gradients = Gradients(flat, 8, (Played(version=0, born=time.monotonic()),))
            found["weights"] = flat.numel()
            if exchange == "weights":
                found["pull"] = microseconds(lambda link=link, into=weights: link.pull(into))
                found["lock"] = microseconds(lambda lock=lock: empty(lock))
                found["apply"] = microseconds(lambda link=link, given=gradients: link.push(given))
                continue
            (updater,) = make_servers(resolved.settings, shared, lambda _, lock=lock: lock)
            served = updater.run(lambda _: None, lambda: False)
            times = [send_and_serve(link, gradients, served) for _ in range(200)]
            found["send"], found["serve"] = (statistics.median(each) for each in zip(*times, strict=True))
    return found


def empty(lock: Lock) -> None:
    """Take a lock and let go of it."""
    with lock:
        pass


def send_and_serve(link: Any, gradients: Gradients, served: Iterator[Turn]) -> tuple[float, float]:
    """Microseconds until a gradient is sent, and until the updater has applied it and freed its slot."""
    began = time.perf_counter()
    link.push(gradients)
    sent = time.perf_counter()
    while (link.slots.headers[:, STATE] != FREE).any():
        next(served)
    return (sent - began) * 1e6, (time.perf_counter() - sent) * 1e6


def microseconds(call: Callable[[], Any]) -> float:
    """The median of many calls."""
    times = []
    for _ in range(CALLS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e6


def measure_exchange(flags: list[str], workers: int, width: int) -> dict[str, float]:
    """Speed of many workers beside what they could do, and what an update costs them."""
    size = ["--workers", str(workers), "--encoder-size", str(width), "--rollout-steps", str(ROLLOUT)]
    rows = train(16.0 + workers / 4, PAUSE, [*size, "--objective", "a3c", *flags])
    updates = per_second(rows, "progress/updates")

    def mean(name: str) -> float:
        return statistics.mean(row.get(name, 0.0) for row in rows)

    return {
        "efficiency": round(per_second(rows, "progress/steps") * PAUSE / workers, 3),
        "updates_per_second": round(updates, 1),
        "lock_wait_ms": round(mean("async/lock_wait"), 3),
        "lag": round(mean("async/lag"), 1),
        **{name: round(mean(f"time/{name}"), 4) for name in (*SECTIONS, "waiting")},
    }


def pong_table(part: str, results: dict[str, list[dict[str, float]]]) -> str:
    """Medians of a part on Pong."""
    lines = [f"| {part} | steps/s | {' | '.join(SECTIONS)} | MB in a worker |", "|---" * (len(SECTIONS) + 3) + "|"]
    for name, runs in results.items():
        middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        times = " | ".join(f"{middle[section]:.0f}" for section in SECTIONS)
        lines.append(f"| {name} | **{middle['steps_per_second']:,.0f}** | {times} | {middle['megabytes']:.0f} |")
    if part == "workers":
        gains = [two["steps_per_second"] / one["steps_per_second"] for one, two in zip(*results.values(), strict=True)]
        words = ", ".join(f"{gain:.2f}" for gain in gains)
        lines.append(
            f"\nTwo workers beside one, round by round: {words}; median **{statistics.median(gains):.2f}** times."
        )
    return "\n".join(lines)


def costs_table(results: dict[str, dict[str, float]]) -> str:
    """Microseconds by the number of weights."""
    sizes = " | ".join(f"{each['weights']:,} weights" for each in results.values())
    lines = [f"| µs | {sizes} |", "|---" * (len(results) + 1) + "|"]
    for name, words in COSTS.items():
        lines.append(f"| {words} | {' | '.join(f'{each[name]:,.0f}' for each in results.values())} |")
    for name, words in (("apply", "taking turns"), ("serve", "one updater")):
        most = " | ".join(f"{1e6 / each[name]:,.0f}" for each in results.values())
        lines.append(f"| so at most so many updates a second, {words} | {most} |")
    return "\n".join(lines)


def exchange_table(results: dict[str, dict[str, float]]) -> str:
    """Speed in parts of what so many workers could do if nothing held them up, and what an update waits for."""
    lines = [f"| | {' | '.join(f'{n} workers' for n in CROWD)} |", "|---" * (len(CROWD) + 1) + "|"]
    for size in WIDTHS:
        for exchange in EXCHANGES:
            cells = []
            for workers in CROWD:
                each = results.get(f"{exchange}, {size}, {workers}")
                words = (
                    each and f"**{each['efficiency']:.0%}**, {each['updates_per_second']:.0f}/s, lag {each['lag']:.1f}"
                )
                cells.append(words or "–")
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
        if part == "costs":
            for width in COST_WIDTHS:
                self.keep(part, str(width), measure_costs(width))
        elif part == "exchanges":
            for workers in CROWD:
                for size, width in WIDTHS.items():
                    for exchange, flags in EXCHANGES.items():
                        name = f"{exchange}, {size}, {workers}"
                        self.keep(part, name, measure_exchange(flags, workers, width))
        else:
            for _ in range(ROUNDS):
                for name, variant in ON_PONG[part].items():
                    self.keep(part, name, [*self.parts[part].get(name, []), measure_on_pong(variant)])

    def table(self, part: str) -> str:
        """A part for the page."""
        if part == "costs":
            return costs_table(self.parts[part])
        return exchange_table(self.parts[part]) if part == "exchanges" else pong_table(part, self.parts[part])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    results = Results()
    for part in [] if given.report else given.only:
        results.measure(part)
    for part in results.parts:
        print(results.table(part))
        replace_table("scaling.md", f"benchmarks/scaling.py: {part}", results.table(part))


if __name__ == "__main__":
    main()
