"""`hogwild bench ENV`"""

import json
from dataclasses import dataclass, field

import tyro

from hogwild.cli.arguments import parse, typed
from hogwild.config.settings import EnvSettings, ObjectiveSettings, PolicySettings
from hogwild.errors import UsageError


@dataclass(frozen=True)
class Bench:
    """Measure training speed beside that of the bare environments on the same cores, in turns, and where time goes."""

    env: tyro.conf.Positional[str] = "pong"
    """Environment, as for train."""
    seconds: float = 20.0
    """Seconds of each measurement."""
    rounds: int = 3
    """How often training and bare environments take turns."""
    workers: int = 0
    """Number of workers (0: one for each core)."""
    scaling: bool = False
    """Also measure one worker alone, and say what the others add."""
    preset: str = ""
    """Named settings."""
    json: bool = False
    """Print one line of JSON."""
    environment: EnvSettings = field(default_factory=EnvSettings)
    policy: PolicySettings = field(default_factory=PolicySettings)
    objective: ObjectiveSettings = field(default_factory=ObjectiveSettings)


def main(arguments: list[str]) -> int:
    """Measure."""
    first = parse(Bench, "bench", arguments)
    if first.seconds <= 0 or first.rounds < 1:
        raise UsageError("--seconds and --rounds: must be greater than 0.")
    from hogwild.bench import measure, report_lines
    from hogwild.resolve import layer, resolve

    groups = ("environment", "policy", "objective")
    flat = {name: value for group in groups for name, value in vars(getattr(first, group)).items()}
    base = layer(first.env, first.preset, **typed(arguments, flat))
    default = Bench(base.env, environment=base.environment, policy=base.policy, objective=base.objective)
    given = parse(Bench, "bench", arguments, default)
    changed = base.update(workers=given.workers, until_return=None)
    for group in groups:
        changed = changed.with_group(group, getattr(given, group))
    say = (lambda _: None) if given.json else (lambda line: print(line, flush=True))
    result = measure(resolve(changed), given.seconds, given.rounds, given.scaling, say)
    if given.json:
        print(json.dumps(result))
    else:
        for line in report_lines(result):
            print(line)
    return 0
