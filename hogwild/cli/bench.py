"""`hogwild bench ENV`"""

import json
from dataclasses import dataclass, field

from hogwild.cli.arguments import Env, parse, typed
from hogwild.config.settings import EnvSettings, ExecutionSettings, ObjectiveSettings, OptimizerSettings, PolicySettings
from hogwild.errors import UsageError


@dataclass(frozen=True)
class Bench:
    """Measure training speed beside that of the bare environments on the same cores, in turns, and where time goes."""

    env: Env = "pong"
    """Environment, as for train."""
    seconds: float = 0.0
    """Seconds of each measurement (0: 20, and 4 with --tune)."""
    rounds: int = 3
    """How often training and bare environments take turns."""
    scaling: bool = False
    """Also measure one worker alone, and say what the others add."""
    tune: bool = False
    """Find out how many environments each worker should have here, in about two minutes."""
    preset: str = ""
    """Named settings."""
    json: bool = False
    """Print one line of JSON."""
    environment: EnvSettings = field(default_factory=EnvSettings)
    policy: PolicySettings = field(default_factory=PolicySettings)
    objective: ObjectiveSettings = field(default_factory=ObjectiveSettings)
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    execution: ExecutionSettings = field(default_factory=ExecutionSettings)


def main(arguments: list[str]) -> int:
    """Measure."""
    first = parse(Bench, "bench", arguments)
    if first.seconds < 0 or first.rounds < 1:
        raise UsageError("--seconds: must not be negative; --rounds: must be at least 1.")
    from hogwild.bench import measure, report_lines
    from hogwild.resolve import layer, resolve

    groups = ("environment", "policy", "objective", "optimizer", "execution")
    flat = {name: value for group in groups for name, value in vars(getattr(first, group)).items()}
    base = layer(first.env, first.preset, **typed(arguments, flat))
    given = parse(Bench, "bench", arguments, Bench(base.env, **{group: getattr(base, group) for group in groups}))
    if given.execution.engine != "processes":
        raise UsageError(f"--engine {given.execution.engine}: bench pauses workers in turn, which only processes can.")
    if given.execution.record_schedule:
        raise UsageError("--record-schedule: bench keeps no runs; it is for train.")
    changed = base.update(until_return=None)
    for group in groups:
        changed = changed.with_group(group, getattr(given, group))
    say = (lambda _: None) if given.json else (lambda line: print(line, flush=True))
    if given.tune:
        from hogwild.tuning import tune, tuning_lines

        result, lines = tune(resolve(changed), given.seconds or 4.0, say), tuning_lines
    else:
        result = measure(resolve(changed), given.seconds or 20.0, given.rounds, given.scaling, say)
        lines = report_lines
    if given.json:
        print(json.dumps(result))
    else:
        for line in lines(result):
            print(line)
    return 0
