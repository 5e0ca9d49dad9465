"""Workers on Ray: what it costs on one machine, beside RLlib there, how it grows with machines, and where it ends.

    python benchmarks/cluster.py one        # our engines and RLlib, in turns, three rounds: half an hour
    python benchmarks/cluster.py nodes      # 1 to 4 machines of one worker each, in network namespaces
    python benchmarks/cluster.py limits     # what a learner, an updater and the line to them can take in

Pong throughout. Writes `benchmarks/results/cluster.json` after each part, and the tables in `docs/results/cluster.md`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from pages import ROOT, replace_table
from peer_settings import NATURE, Setting
from peers import measure, python_of

from hogwild.engines.ray.intake import Intake
from hogwild.engines.ray.parcel import Counts, Goods, Parcel
from hogwild.exchanges.make import make_servers
from hogwild.exchanges.slots import Slots
from hogwild.exchanges.tape import Lock
from hogwild.exchanges.trajectories import read_slot
from hogwild.report import Report
from hogwild.resolve import layer, resolve
from hogwild.session import Session
from hogwild.worker import Worker

OUTPUT = ROOT / "benchmarks" / "results" / "cluster.json"
METHODS = {
    "vtrace × trajectories": "--objective vtrace --exchange trajectories",
    "ppo × trajectories": "--objective ppo --exchange trajectories",
    "a3c × gradients": "--objective a3c --exchange gradients",
}
HALVED = "a3c × gradients, bfloat16"
NODES = ("vtrace × trajectories", "a3c × gradients", HALVED)
RLLIB = {
    "RLlib, IMPALA, 2 × 1 games": "--algorithm impala --runners 2 --envs 1",
    "RLlib, IMPALA, 1 × 16 games": "--algorithm impala --runners 1 --envs 16",
    "RLlib, APPO, 2 × 1 games": "--algorithm appo --runners 2 --envs 1",
    "RLlib, APPO, 1 × 16 games": "--algorithm appo --runners 1 --envs 16",
}
SAME = "--image-size 84 --image-width 84 --frame-stack 4 --no-layer-norm --encoder nature"
MACHINES, WINDOW = (1, 2, 3, 4), 20.0  # seconds that are measured


def settings_of_one() -> list[Setting]:
    """What is run on one machine."""
    ours = [
        Setting("one", "hogwild", f"{name}, {engine}", "", f"{flags} --engine {engine}")
        for name, flags in METHODS.items()
        for engine in ("processes", "ray")
    ]
    ours += [
        Setting("one", "hogwild", f"{name}, ray, their network", "", f"{METHODS[name]} --engine ray {SAME}")
        for name in ("vtrace × trajectories", "ppo × trajectories")
    ]
    return ours + [Setting("one", "rllib", name, NATURE, flags) for name, flags in RLLIB.items()]


def measure_one(rounds: int, kept: dict[str, list[float]]) -> dict[str, list[float]]:
    """Steps a second of everything in every round."""
    python_of("rllib")
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for setting in settings_of_one():
            run = measure(setting, WINDOW, warm_up=8.0)
            print(setting.what, run, flush=True)
            if "failed" not in run:
                found.setdefault(setting.what, []).append(run["steps_per_second"])
    return found or kept


def table_of_one(found: dict[str, list[float]]) -> str:
    """Speeds, beside our own on one machine, and beside RLlib's best of the same kind."""
    best = {
        kind: max((s for name, s in found.items() if kind in name), key=statistics.median, default=[])
        for kind in ("IMPALA", "APPO")
    }
    lines = ["| | steps/s | every round | of `processes` | of RLlib's best |", "|---|---|---|---|---|"]
    for name, speeds in found.items():
        method = name.partition(",")[0]
        beside = found.get(f"{method}, processes", []) if name.endswith(", ray") else []
        rival = best["APPO" if "ppo" in method else "IMPALA"] if name not in RLLIB and "ray" in name else []
        cells = [_ratio(speeds, beside), _ratio(speeds, rival)]
        rounds = ", ".join(f"{speed:,.0f}" for speed in speeds)
        lines.append(f"| {name} | **{statistics.median(speeds):,.0f}** | {rounds} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _ratio(ours: list[float], theirs: list[float]) -> str:
    each = [mine / other for mine, other in zip(ours, theirs, strict=False)]
    return f"**{statistics.median(each):.2f}** ({', '.join(f'{r:.2f}' for r in each)})" if each else ""


def measure_nodes(only: list[str], kept: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Speed, traffic and lag by number of machines, and the same number of workers in processes."""
    found = [run for run in kept if run["method"] not in only]
    for method in only:
        for count in MACHINES if method != HALVED else (1, 4):
            for engine in ("processes", "ray") if method != HALVED else ("ray",):  # within a machine nothing is sent
                words = [sys.executable, __file__, "world", method, str(count), engine]
                if engine == "ray":
                    from tests.engines.ray.world import NAMESPACES

                    words = [*NAMESPACES, "--mount-proc", *words]
                done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
                found.append(json.loads(done.stdout.splitlines()[-1]))
                print(found[-1], flush=True)
    return found


def in_world(method: str, count: int, engine: str) -> dict[str, Any]:
    """One training: on machines in namespaces, which this process must be in, or in processes."""
    chosen = METHODS[method] if method != HALVED else f"{METHODS['a3c × gradients']} --compress bfloat16"
    flags = [*chosen.split(), "--until-return", "1000", "--log-seconds", "1", "--minutes", "3"]
    if engine == "processes":
        with tempfile.TemporaryDirectory() as runs:
            words = [sys.executable, "-m", "hogwild", "train", "pong", *flags, "--workers", str(count), "--quiet"]
            training = subprocess.Popen([*words, "--runs", runs, "--name", "run"])
            row = _watch(Path(runs) / "run" / "metrics.jsonl")
            training.terminate()
            training.wait()
    else:
        from tests.engines.ray.world import World, until

        world = World()
        world.start_head()
        for _ in range(count):
            world.add()
        running = world.train(*flags, "--quiet", command="train pong")
        until(lambda: len(running.playing()) == count, 150.0, running.tail())
        row = _watch(running.folder / "metrics.jsonl")
    return {"method": method, "machines": count, "engine": engine} | row


def _watch(path: Path) -> dict[str, Any]:
    """Wait for a training to get going, and measure."""
    end = time.monotonic() + 150
    while time.monotonic() < end:
        rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        begun = [row for row in rows if row["progress/steps"] > 0]
        if begun and begun[-1]["progress/seconds"] - begun[0]["progress/seconds"] > WINDOW + 10:
            break
        time.sleep(0.5)
    late = [row for row in begun if row["progress/seconds"] >= begun[-1]["progress/seconds"] - WINDOW]
    seconds = late[-1]["progress/seconds"] - late[0]["progress/seconds"]

    def mean(ending: str) -> float | None:
        values = [value for row in late for name, value in row.items() if name.endswith(ending)]
        return round(statistics.mean(values), 3) if values else None

    return {
        "steps_per_second": round((late[-1]["progress/steps"] - late[0]["progress/steps"]) / seconds),
        "lag": mean("async/lag"),
        "sends_mb": mean("/received"),
        "fetches_mb": mean("/sent"),
    }


def table_of_nodes(found: list[dict[str, Any]]) -> str:
    """One row for each number of machines."""
    lines = [
        "| | machines | steps/s | as many workers in `processes` | a machine sends, MB/s | fetches, MB/s | lag |",
        "|---|---|---|---|---|---|---|",
    ]
    for run in found:
        if run["engine"] == "ray":
            key = (run["method"].partition(",")[0], run["machines"], "processes")
            beside = next(o for o in found if (o["method"], o["machines"], o["engine"]) == key)
            lines.append(
                f"| {run['method']} | {run['machines']} | **{run['steps_per_second']:,}** "
                f"| {beside['steps_per_second']:,} | {run['sends_mb']:.2f} | {run['fetches_mb']:.2f} "
                f"| {run['lag']:.1f} (processes {beside['lag']:.1f}) |"
            )
    return "\n".join(lines)


def measure_limits() -> dict[str, dict[str, float]]:
    """What one learner can learn from, and what one coordinator can take in, by method."""
    found = {}
    for name, flags in METHODS.items():
        words = flags.split()
        resolved = resolve(layer("pong", engine="ray", objective=words[1], exchange=words[3]))
        session, lock = Session(resolved), threading.Lock()
        slots = session.shared.mailbox
        assert isinstance(slots, Slots)
        session.shared.counters[3] = 1  # means are known
        worker = Worker(resolved.settings, 0)
        rollout = worker.actor.collect(0)
        if words[3] == "gradients":
            arrays = {"flat": np.zeros(session.layout.num_parameters, np.float32)}
            shape = (0, 0)
        else:
            arrays = {key: tensor.numpy() for key, tensor in rollout.tensors().items()}
            shape = (int(rollout.rewards.shape[0]), int(rollout.rewards.shape[1]))
        worker.batch.close()
        goods = Goods(arrays, (0,), (0.0,), shape)
        server = make_servers(resolved.settings.update(workers=1), session.shared, lambda _, inner=lock: Lock(inner))[0]
        reports: list[Report] = []
        loop = server.run(reports.append, lambda: False)
        intake, took, learned = Intake(session.shared, lock, 0), [], []
        for _ in range(6):
            began = time.perf_counter()
            intake.take(Parcel([goods]), Counts(), lambda: False)
            took.append(time.perf_counter() - began)
            began, seen = time.perf_counter(), len(reports)
            while len(reports) == seen:
                next(loop)
            learned.append(time.perf_counter() - began)
        found[name] = {
            "steps": rollout.steps,
            "megabytes": goods.bytes / 1e6,
            "weights_mb": session.shared.weights.nbytes / 1e6,
            "intake_ms": 1e3 * statistics.median(took),
            "learn_ms": 1e3 * statistics.median(learned),
        }
        print(name, found[name], flush=True)
        assert shape == (0, 0) or read_slot(slots, 0).steps == rollout.steps
    return found


def table_of_limits(limits: dict[str, dict[str, float]], nodes: list[dict[str, Any]]) -> str:
    """Where each saturates, by a model: machines of four workers each, the line 1 Gbit/s."""
    lines = [
        "| | a parcel | taking it in | learning from it | most, by the learner | most, by 1 Gbit/s "
        "| 1, 10, 100 machines of 4 workers |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, limit in limits.items():
        exchange = name.partition(" × ")[2]  # what is done with it elsewhere makes no worker faster
        alone = [r for r in nodes if r["machines"] == 1 and r["engine"] == "processes" and exchange in r["method"]]
        worker = alone[0]["steps_per_second"] if alone else None
        parts = 4 if "gradients" in name else 1  # an outpost adds up the gradients of its workers
        steps = limit["steps"] * parts
        learner = 1e3 * steps / max(limit["learn_ms"], limit["intake_ms"])
        line = steps * 125.0 / (limit["megabytes"] + limit["weights_mb"])
        most = min(learner, line)
        grows = ", ".join(f"{min(n * 4 * worker, most):,.0f}" for n in (1, 10, 100)) if worker else "–"
        lines.append(
            f"| {name} | {limit['megabytes']:.1f} MB, {steps:,.0f} steps | {limit['intake_ms']:.0f} ms "
            f"| {limit['learn_ms']:.0f} ms | {learner:,.0f} steps/s | {line:,.0f} steps/s | {grows} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("one", "nodes", "limits", "report", "world"))
    parser.add_argument("rest", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=NODES, default=NODES, help="methods, for nodes")
    given = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if given.part == "world":
        method, count, engine = given.rest
        print(json.dumps(in_world(method, int(count), engine)), flush=True)
        os._exit(0)  # whatever is left ends with the namespaces
    results: dict[str, Any] = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    if given.part == "one":
        results["one"] = measure_one(given.rounds, results.get("one", {}))
    elif given.part == "nodes":
        results["nodes"] = measure_nodes(given.only, results.get("nodes", []))
    elif given.part == "limits":
        results["limits"] = measure_limits()
    OUTPUT.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    if "one" in results:
        replace_table("cluster.md", "benchmarks/cluster.py: one", table_of_one(results["one"]))
    if "nodes" in results:
        replace_table("cluster.md", "benchmarks/cluster.py: nodes", table_of_nodes(results["nodes"]))
    if "limits" in results:
        found = table_of_limits(results["limits"], results.get("nodes", []))
        replace_table("cluster.md", "benchmarks/cluster.py: limits", found)


if __name__ == "__main__":
    main()
