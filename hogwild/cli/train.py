"""`hogwild train ENV`"""

import dataclasses
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from hogwild.cli.arguments import Env, parse, typed
from hogwild.cli.display import make_display
from hogwild.cli.tensorboard import tensorboard
from hogwild.config.settings import (
    EnvSettings,
    ExecutionSettings,
    ObjectiveSettings,
    OptimizerSettings,
    PolicySettings,
    RunSettings,
    Settings,
    setting_groups,
)
from hogwild.errors import HogwildError, UsageError
from hogwild.policies.spec import encoder_kind
from hogwild.resolve import Layers, Resolved, is_open, layers, merge, resolve
from hogwild.validate import doubts, idle


@dataclass(frozen=True)
class Train:
    """Train an agent. Settings come from the environment's family, a preset, a TOML file and flags; the later wins.

    The defaults below are those of the ENV that is named: `hogwild train pong --objective ppo --help` shows the ones of
    PPO on Pong. Without a stop rule (--steps, --minutes, --until-return) training stops when the environment is
    solved, where it is known what that means, or after the number of steps that its family has.
    """

    env: Env = ""
    """A Gymnasium id (ALE/Pong-v5, CartPole-v1, my_module:MyEnv-v0), an old Atari id (PongDeterministic-v4), or the
    name of a game (pong)."""
    preset: str = ""
    """Named settings, such as gru-a3c-pong or a3c-paper."""
    config: str = ""
    """A TOML file of settings, such as the config.toml of another run."""
    dry_run: bool = False
    """Print the resolved settings and what would start, and stop there."""
    quiet: bool = False
    """Show no progress."""
    json: bool = False
    """Print the outcome as one line of JSON."""
    overwrite: bool = False
    """Replace a run of the same name."""
    tensorboard: bool = False
    """Start TensorBoard over the folder of runs, for as long as training lasts."""
    seeds: int = 1
    """Train so many times, one after the other, with seeds from --seed on: a set for `hogwild compare`."""
    environment: EnvSettings = field(default_factory=EnvSettings)
    policy: PolicySettings = field(default_factory=PolicySettings)
    objective: ObjectiveSettings = field(default_factory=ObjectiveSettings)
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    execution: ExecutionSettings = field(default_factory=ExecutionSettings)
    run: RunSettings = field(default_factory=RunSettings)

    def settings(self) -> Settings:
        """The settings among the arguments."""
        return Settings(self.env, **{group: getattr(self, group) for group in setting_groups()})

    def with_settings(self, settings: Settings) -> "Train":
        """The same arguments with other settings."""
        groups = {group: getattr(settings, group) for group in setting_groups()}
        return dataclasses.replace(self, env=settings.env, **groups)


def main(arguments: list[str]) -> int:
    """Train."""
    given, base = read_arguments(arguments)
    chosen = typed(arguments, Settings().flat())
    for words in idle(chosen, given.settings()):
        print(f"hogwild: {words}", file=sys.stderr)
    if given.dry_run:
        print_plan(resolve(given.settings()), given, base)
        return 0
    if is_open(base, "envs") and "envs" not in chosen:
        given = fitted(given)
    with tensorboard(given.run.runs, given.tensorboard):
        return train_seeds(given) if given.seeds != 1 else train_once(given)


def train_once(given: Train) -> int:
    """Train, or go on with a run of the same name if that is what is wanted."""
    from hogwild.runs.folder import RunFolder
    from hogwild.training import resume_training, start_training

    settings, display = given.settings(), make_display(given.quiet or given.json)
    folder = RunFolder(Path(settings.run.runs) / settings.run.name)
    if settings.run.name and folder.config.exists() and not given.overwrite and _wants_to_resume(folder.path):
        outcome = resume_training(folder.path, display)
    else:
        outcome = start_training(settings, display, given.overwrite)
    if given.json:
        print(json.dumps(dataclasses.asdict(outcome), default=str))
    return 128 + outcome.signal if outcome.signal else 0


def fitted(given: Train) -> Train:
    """Arguments with the number of environments that a short probe of this machine chose; says why."""
    from hogwild.probe import fit

    settings, why = fit(given.settings())
    if why and not (given.quiet or given.json):
        print(f"machine      {why}")
    return given.with_settings(settings)


def train_seeds(given: Train) -> int:
    """Train with several seeds, and say how to compare the runs."""
    from hogwild.runs.folder import RunFolder, default_name
    from hogwild.training import start_training

    settings = given.settings()
    if given.seeds < 1:
        raise UsageError(f"--seeds {given.seeds}: must be at least 1.")
    first, runs = settings.execution.seed, Path(settings.run.runs)
    stem = settings.run.name or default_name(settings).replace(f"-seed{first}", "")
    names = {seed: f"{stem}-seed{seed}" for seed in range(first, first + given.seeds)}
    taken = [name for name in names.values() if RunFolder(runs / name).config.exists()]
    if taken and not given.overwrite:
        raise UsageError(f"Run '{taken[0]}' exists. Start all anew: --overwrite   Keep it: another --name")
    outcomes = []
    for seed, name in names.items():
        display = make_display(given.quiet or given.json)
        outcomes.append(start_training(settings.update(seed=seed, name=name), display, given.overwrite))
        if outcomes[-1].signal:
            break
    if given.json:
        print(json.dumps([dataclasses.asdict(outcome) for outcome in outcomes], default=str))
    elif not given.quiet:
        elsewhere = "" if runs == Path("runs") else f" --runs {runs}"
        print(f"compare      hogwild compare '{stem}-seed*'{elsewhere}")
    signal = outcomes[-1].signal
    return 128 + signal if signal else 0


def read_arguments(arguments: list[str]) -> tuple[Train, Layers]:
    """Arguments over the settings of preset, file and family, and what these say.

    Parsed twice: first to learn which environment, preset and file, then with those as defaults, so that what the
    user typed beats them and what the user did not type comes from them.
    """
    without_help = [each for each in arguments if each not in ("-h", "--help")]
    if len(without_help) < len(arguments):
        parse(Train, "train", ["--help"], default=_defaults_to_show(without_help))
    first = parse(Train, "train", arguments)
    base = layers(first.env, first.preset, first.config, **typed(arguments, first.settings().flat()))
    settings = merge(base)
    if not settings.env:
        preset = f"--preset {first.preset} " if first.preset else ""
        raise UsageError(f"Which environment? For example: hogwild train {preset}pong")
    base.pop("given")
    return parse(Train, "train", arguments, first.with_settings(settings)), base


def _defaults_to_show(arguments: list[str]) -> Train | None:
    """The defaults of the environment that is named; none in particular if what is named cannot be had."""
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            first = parse(Train, "train", arguments)
        given = typed(arguments, first.settings().flat())
        return first.with_settings(merge(layers(first.env, first.preset, first.config, **given)))
    except (SystemExit, HogwildError):
        return None


def _wants_to_resume(path: Path) -> bool:
    if not sys.stdin.isatty():
        return False
    try:
        answer = input(f"Run '{path}' exists. Go on with it, with its own settings? [Y/n] ")
    except EOFError:
        return False
    return answer.strip().lower() in ("", "y", "yes")


def print_plan(resolved: Resolved, given: Train, base: Layers) -> None:
    """What would be trained, with which settings, and where those come from that are not the plain defaults."""
    settings = resolved.settings
    if given.json:
        print(json.dumps(settings.flat()))
        return
    for line in (*describe(resolved), *doubts(settings)):
        print(line)
    print()
    sources = _sources(given, settings, base)
    for group in setting_groups():
        print(f"[{group}]")
        for name, value in dataclasses.asdict(getattr(settings, group)).items():
            line = f"  {name} = {_shown(value)}"
            print(f"{line:<40}  # {sources[name]}" if name in sources else line)


def _sources(given: Train, settings: Settings, base: Layers) -> dict[str, str]:
    """Where each setting comes from that is not the plain default."""
    plain, final, typed = Settings().flat(), settings.flat(), given.settings().flat()
    before = merge(base).flat()
    found = {}
    for name in final:
        if name in ("env", "name"):
            continue
        if typed[name] != before[name]:
            found[name] = "flag"
        elif sources := [source for source, values in base.items() if name in values]:
            found[name] = sources[-1]
        elif final[name] != plain[name]:
            found[name] = "by this machine and environment"
    return found


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return str(value) if value is not None else "by protocol"


def describe(resolved: Resolved) -> list[str]:
    """The header of a run: environment, protocol, method, size."""
    settings, spec = resolved.settings, resolved.spec
    execution, environment = settings.execution, settings.environment
    shape = "×".join(map(str, spec.observation_shape))
    lines = [
        f"environment  {resolved.plan.id}: observations {shape} {spec.observation_dtype}, {spec.describe_actions()}"
    ]
    if spec.unread:
        lines.append(f"left out     {', '.join(spec.unread)}: text, which a policy does not read")
    if resolved.plan.protocol:
        lines.append(f"protocol     {resolved.plan.protocol.describe()}")
        lines.append(f"recipe       {resolved.plan.recipe}; normalise {settings.policy.normalise}")
    lines.append(
        f"method       {settings.objective.objective} × {_exchange_words(execution)} × {execution.engine}, "
        f"{settings.optimizer.optimizer} {_shown(settings.optimizer.learning_rate)}, "
        f"seed {execution.seed}"
    )
    memory = "" if settings.policy.memory == "none" else f", {settings.policy.memory}"
    lines.append(f"policy       {encoder_kind(spec, settings.policy)}{memory}, in {settings.policy.precision}")
    lines.append(
        f"workers      {_workers_words(execution)} × {_shown(environment.envs)} environments × "
        f"{_shown(settings.objective.rollout_steps)} steps a rollout"
    )
    lines.append(f"stops        {_stop_words(settings)}")
    return lines


def _workers_words(execution: ExecutionSettings) -> str:
    if execution.engine != "ray":
        return str(execution.workers)
    return f"on each machine {execution.workers or 'one for each free core'}"


def _exchange_words(execution: ExecutionSettings) -> str:
    if execution.exchange != "weights":
        return execution.exchange
    return f"weights ({'lock-free' if execution.lock == 'free' else 'taking turns'})"


def _stop_words(settings: Settings) -> str:
    run, rules = settings.run, []
    if run.until_return is not None:
        rules.append(f"at a mean return of {run.until_return:g} over 100 episodes")
    if run.steps:
        rules.append(f"after {run.steps:,} steps")
    if run.minutes:
        rules.append(f"after {run.minutes:g} minute{'s' * (run.minutes != 1)}")
    return ", or ".join(rules) or "never, until Ctrl-C"
