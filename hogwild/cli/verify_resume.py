"""`hogwild verify-resume ENV`"""

import dataclasses
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hogwild.cli.arguments import Env, parse
from hogwild.errors import UsageError


@dataclass(frozen=True)
class VerifyResume:
    """Train a little, kill, resume, and compare with a run that was never stopped; says what differs, if anything.

    Both train on the engine `inline`, where everything can be repeated.
    """

    env: Env
    """A Gymnasium id, or the name of a game."""
    steps: int = 0
    """Steps to train (0: enough for a few checkpoints)."""
    seed: int = 0
    """Seed of both."""
    objective: str = ""
    """What is optimised (empty: what is usual for the environment)."""
    exchange: str = "weights"
    """What travels: weights, gradients, trajectories or barrier."""
    memory: str = "none"
    """Recurrent memory: none, lstm or gru."""
    json: bool = False
    """Print one line of JSON."""


def main(arguments: list[str]) -> int:
    """Verify; the exit code is 1 if the two differ."""
    given = parse(VerifyResume, "verify-resume", arguments)
    if given.steps < 0:
        raise UsageError(f"--steps {given.steps}: must not be negative.")
    from hogwild.envs.ids import plan_env
    from hogwild.resolve import layer
    from hogwild.verifying import verify_resume

    plan = plan_env(layer(given.env))
    steps = given.steps or (6_000 if plan.is_atari else 40_000)
    words = [given.env, "--engine", "inline", "--workers", "2", "--envs", "4", "--steps", str(steps)]
    words += ["--seed", str(given.seed), "--exchange", given.exchange, "--memory", given.memory]
    words += ["--objective", given.objective] if given.objective else []
    with tempfile.TemporaryDirectory(prefix="hogwild-") as folder:
        found = verify_resume(words, Path(folder), lambda line: None if given.json else print(line, flush=True))
    is_same = all(each.is_same for each in found)
    if given.json:
        compared = [dataclasses.asdict(each) for each in found]
        print(json.dumps({"env": given.env, "steps": steps, "is_same": is_same, "components": compared}))
        return int(not is_same)
    for each in found:
        print(f"{'✔' if each.is_same else '✘'} {each.component}" + (f": {each.why}" if each.why else ""))
    first = next((each for each in found if not each.is_same), None)
    if first is None:
        print(f"bit-identical: {given.env} resumed is {given.env} unbroken, after {steps:,} steps.")
    else:
        print(f"not identical: the first to differ is the {first.component}.")
    return int(not is_same)
