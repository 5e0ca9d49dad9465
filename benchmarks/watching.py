"""What looking on costs a worker.

    python benchmarks/watching.py                # about four minutes; needs a quiet machine

One worker plays and learns Pong as it does in training; in turns, a few rollouts at a time, nobody looks on, somebody
does, and nobody can (as if there were no such thing). The processor's time for a step is compared within each round,
since a machine that others use grows faster and slower by more than that from minute to minute. Adds a run to
`benchmarks/results/watching.json` and prints all.
"""

import json
import statistics
import tempfile
import time
from pathlib import Path

import torch
from pages import ROOT

from hogwild.link import Pulled
from hogwild.live.mailbox import Inbox, Outbox, touch, wanted_file
from hogwild.resolve import layer, resolve
from hogwild.worker import Worker

OUTPUT = ROOT / "benchmarks" / "results" / "watching.json"
ROUNDS, ROLLOUTS = 40, 2
WAYS = ("impossible", "nobody", "watched")


def seconds_per_step(worker: Worker) -> float:
    """Processor time of a step, over a few rollouts that are played and learned from."""
    started, steps = time.process_time(), 0
    for _ in range(ROLLOUTS):
        rollout = worker.play(Pulled(0, 0, ready=True))
        for minibatch in worker.gradients.minibatches(rollout):
            worker.gradients.compute(minibatch, 0, rollout.steps, rollout.played)
        steps += rollout.steps
    return (time.process_time() - started) / steps


def measure(folder: Path) -> dict[str, list[float]]:
    """Microseconds of a step in each round, each way."""
    worker = Worker(resolve(layer("pong")).settings, rank=0)
    outbox, inbox = Outbox(folder, 0, worker.batch.spec), Inbox(folder, 0)
    wanted = wanted_file(folder, 0)
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    seconds_per_step(worker)  # the first rollouts are slow
    for number in range(ROUNDS):
        for way in WAYS[number % 3 :] + WAYS[: number % 3]:
            worker.actor.onlooker = None if way == "impossible" else outbox
            touch(wanted) if way == "watched" else wanted.unlink(missing_ok=True)
            outbox.is_there()
            found[way].append(round(seconds_per_step(worker) * 1e6, 2))
            inbox.look()
            seen = len(list(inbox.moments()))
            assert (seen > 0) == (way == "watched")
            wanted.unlink(missing_ok=True)
    return found


def describe(run: dict[str, list[float]]) -> str:
    """What each way costs beside a worker that nobody can look at, over all rounds."""
    words = []
    for way in WAYS[1:]:
        costs = sorted(a / b - 1 for a, b in zip(run[way], run["impossible"], strict=True))
        low, middle, high = statistics.quantiles(costs, n=4)
        words.append(f"{way} {middle:+.2%} (half of the rounds within {low:+.1%} and {high:+.1%})")
    return f"{statistics.median(run['impossible']):.0f} µs a step; " + ", ".join(words)


def main() -> None:
    torch.set_num_threads(1)
    runs = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else []
    with tempfile.TemporaryDirectory() as place:
        runs.append(measure(Path(place)))
    OUTPUT.write_text(json.dumps(runs, indent=1) + "\n")
    for run in runs:
        print(describe(run))


if __name__ == "__main__":
    main()
