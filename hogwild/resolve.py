"""Where settings come from: plain defaults, the environment's family, a preset, a TOML file, flags; the later wins."""

import dataclasses
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from hogwild.config.settings import Settings, setting_groups
from hogwild.config.suggest import unknown
from hogwild.envs.envpool_batch import require_in_envpool
from hogwild.envs.ids import EnvPlan, plan_env
from hogwild.envs.make import layout_of, solved_at
from hogwild.errors import UsageError
from hogwild.machine import available_cores, has_bfloat16
from hogwild.policies.spec import PolicySpec
from hogwild.validate import problems

Layers = dict[str, dict[str, Any]]  # settings by where they come from
OURS = "this package"  # the source of presets that stand on the defaults; others are whole agents
STOP_RULES = ("steps", "minutes", "until_return")


@dataclasses.dataclass(frozen=True)
class Resolved:
    """Settings that are complete, and what they come to."""

    settings: Settings
    plan: EnvPlan
    spec: PolicySpec


def preset_names() -> list[str]:
    """Presets that `--preset` takes."""
    files = resources.files("hogwild.config").joinpath("presets").iterdir()
    return sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml"))


def read_preset(name: str) -> dict[str, Any]:
    """Settings of a preset by their flat names; an unknown one is refused with the nearest.

    >>> read_preset("gru-a3c-pong")["memory"]
    'gru'
    """
    if name not in preset_names():
        raise unknown("preset", name, preset_names())
    content = _preset_content(name)
    content.pop("about", None)
    return _flatten(content, f"preset {name}")


def about_preset(name: str) -> dict[str, str]:
    """What a preset is, where it comes from, and what was reported of it; empty for the defaults of a family.

    >>> sorted(about_preset("gru-a3c-pong"))
    ['reported', 'source', 'what']
    """
    return _preset_content(name).get("about", {})  # type: ignore[no-any-return]


def _preset_content(name: str) -> dict[str, Any]:
    text = resources.files("hogwild.config").joinpath("presets", f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def read_file(path: str | Path) -> dict[str, Any]:
    """Settings of a TOML file by their flat names; they may stand under their groups' headings or at the top."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"Cannot read '{path}': {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"'{path}' is not valid TOML: {error}.") from None
    return _flatten(content, str(path))


def read_settings(path: Path) -> Settings:
    """All settings of a run, from its `config.toml`."""
    return Settings().update(**read_file(path))


def _flatten(content: dict[str, Any], source: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in content.items():
        if isinstance(value, dict):
            if name not in setting_groups():
                raise UsageError(f"{source}: {unknown('group of settings', name, setting_groups())}")
            flat |= value
        else:
            flat[name] = value
    return flat


def layer(env: str = "", preset: str = "", file: str = "", **changes: Any) -> Settings:
    """Settings from all layers, the defaults of the environment's family included.

    >>> layer("CartPole-v1", entropy=0.02).objective.entropy
    (0.02,)
    """
    return merge(layers(env, preset, file, **changes))


def merge(sources: Layers) -> Settings:
    """Settings of layers, of which the later wins.

    >>> merge({"file": {"entropy": 0.1}, "given": {"entropy": 0.2}}).objective.entropy
    (0.2,)
    """
    return Settings().update(**{name: value for values in sources.values() for name, value in values.items()})


def layers(env: str = "", preset: str = "", file: str = "", **changes: Any) -> Layers:
    """What each layer says, by where it comes from; the later wins.

    >>> [source for source, values in layers("Breakout", preset="atari-vtrace", entropy=0.02).items() if values]
    ['the defaults for atari', 'the defaults for atari-vtrace', 'preset atari-vtrace', 'given']
    """
    from_file = _checked(read_file(file), f"'{file}'") if file else {}
    from_file.pop("name", None)  # another run's config.toml has its settings, not its place
    explicit = {
        f"preset {preset}": _checked(read_preset(preset), f"preset {preset}") if preset else {},
        f"file {file}": from_file,
        "given": changes | ({"env": env} if env else {}),
    }
    given = {name: value for values in explicit.values() for name, value in values.items()}
    named = Settings().update(**given)
    if not named.env:
        return explicit
    whole = bool(preset) and about_preset(preset).get("source", OURS) != OURS
    found = {} if whole else _defaults(named, given, with_game=not preset)
    wanted = given if whole else from_file | changes
    if any(rule in wanted for rule in STOP_RULES):  # who gives a stop rule wants that one
        found = {name: {k: v for k, v in values.items() if k not in STOP_RULES} for name, values in found.items()}
    elif (goal := solved_at(plan_env(named))) is not None:
        found |= {"where it counts as solved": {"until_return": goal}}
    return found | explicit


def is_open(sources: Layers, name: str) -> bool:
    """Whether nobody chose a setting: nothing but our own defaults says what it is.

    >>> is_open(layers("pong"), "envs"), is_open(layers("pong", envs=4), "envs")
    (True, False)
    """
    return not any(name in values for source, values in sources.items() if not source.startswith("the defaults"))


def _defaults(named: Settings, given: dict[str, Any], with_game: bool) -> Layers:
    """Our own defaults for what was not given."""
    if named.execution.engine == "ray" and "exchange" not in given:  # machines share no weights
        named = named.update(exchange=read_preset("ray")["exchange"])
    if "objective" not in given:
        named = named.update(objective=_family_objective(named))
    found = {f"the defaults for {name}": read_preset(name) for name in default_presets(named, with_game)}
    for values in found.values():
        if "objective" in values:  # a family's own does not go with every exchange
            values["objective"] = named.objective.objective
        if "envs" in given and "minibatches" in values:  # fewer environments cannot be split into as many parts
            values["minibatches"] = min(values["minibatches"], *named.environment.envs)
    return found


def _family_objective(named: Settings) -> str:
    """What is optimised in an environment of this family, or by this engine, if nobody says; only A3C sends
    gradients."""
    if named.execution.exchange == "gradients":
        return "a3c"
    family, game = family_and_game(named)
    names = (named.execution.engine, family, game)
    found = [read_preset(name) for name in names if name in preset_names()]
    return str({k: v for values in found for k, v in values.items()}.get("objective", named.objective.objective))


def _checked(values: dict[str, Any], source: str) -> dict[str, Any]:
    """Settings of a file as they are, or what is wrong with them and where."""
    try:
        Settings().update(**values)
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from None
    return values


def default_presets(settings: Settings, with_game: bool = True) -> list[str]:
    """Presets that apply unasked: of the environment's family, over them those of the game, where it has some of its
    own, and over these what the objective, the exchange and the engine add.

    >>> default_presets(Settings().update(env="pong", objective="ppo"))
    ['atari', 'atari-ppo', 'pong']
    """
    objective = settings.objective.objective
    exchange, engine = settings.execution.exchange, settings.execution.engine
    family, game = family_and_game(settings)
    names = [family, f"{family}-{objective}", *([game, f"{game}-{objective}"] if with_game else [])]
    names += [f"{objective}-{exchange}", engine, f"{family}-{engine}"]
    existing = preset_names()
    return [name for name in names if name in existing]


def family_and_game(settings: Settings) -> tuple[str, str]:
    """The names under which an environment may have defaults: of all that are like it, and of its own.

    >>> family_and_game(Settings(env="CartPole-v1")), family_and_game(Settings(env="pong"))
    (('vectors', 'cartpole'), ('atari', 'pong'))
    """
    plan = plan_env(settings)
    if plan.is_atari:
        return "atari", plan.rom
    spec = _spec_of(plan, settings)
    game = plan.id.rpartition(":")[2].rpartition("/")[2].partition("-")[0].lower()  # minigrid, of MiniGrid-Empty-5x5-v0
    if spec.is_image:
        return "pictures", game
    return ("control" if any(part.kind == "numbers" for part in spec.actions) else "vectors"), game


def resolve(settings: Settings) -> Resolved:
    """Fill in what was left open, and refuse what makes no sense; every complaint at once."""
    plan = plan_env(settings)
    if settings.environment.backend == "envpool":
        require_in_envpool(plan)
    complaints = problems(settings)
    if complaints:
        raise UsageError("\n".join(complaints))
    spec = _spec_of(plan, settings)
    changes: dict[str, Any] = {
        # On other machines there are as many as they have free cores, which is not known before they are there.
        "workers": settings.execution.workers or (0 if settings.execution.engine == "ray" else available_cores()),
        "normalise": _normalisation(settings, plan, spec),
        "precision": _precision(settings, spec),
        # A number, so that a resumed run with a later end keeps its schedule.
        "schedule_steps": settings.optimizer.schedule_steps or settings.run.steps,
    }
    resolved = settings.update(**changes)
    complaints = problems(resolved, spec)
    if complaints:
        raise UsageError("\n".join(complaints))
    return Resolved(resolved, plan, spec)


def _normalisation(settings: Settings, plan: EnvPlan, spec: PolicySpec) -> str:
    if settings.policy.normalise != "auto":
        return settings.policy.normalise
    return "frozen" if spec.is_image and plan.recipe in ("standard", "none") else "off"


def _precision(settings: Settings, spec: PolicySpec) -> str:
    if settings.policy.precision != "auto":
        return settings.policy.precision
    on_processor = all(device == "cpu" for device in settings.execution.device)
    is_repeatable = settings.execution.engine == "inline" or settings.execution.record_schedule
    return "bfloat16" if spec.is_image and on_processor and not is_repeatable and has_bfloat16() else "float32"


def _spec_of(plan: EnvPlan, settings: Settings) -> PolicySpec:
    return layout_of(plan, settings.environment, settings.execution.env_timeout).spec
