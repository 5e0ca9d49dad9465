"""Where settings come from: flags over file over preset over family over plain defaults."""

from pathlib import Path
from typing import Any

import pytest

from hogwild.cli.train import read_arguments
from hogwild.config.settings import Settings
from hogwild.errors import UsageError
from hogwild.machine import available_cores
from hogwild.resolve import layer, preset_names, read_file, read_preset, resolve
from hogwild.runs.folder import RunFolder


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return write(
        tmp_path / "mine.toml",
        "image_size = 64\n[run]\nsteps = 3000\n[environment]\nenvs = [2, 4]\n[objective]\nrollout_steps = [7, 8, 9]\n",
    )


NAMES = ("steps", "envs", "rollout_steps")  # a scalar and two lists for workers
FLAGS: dict[str, Any] = {"steps": 500, "envs": (3, 5), "rollout_steps": (11,)}
ATARI_PPO = {name: value for name, value in read_preset("atari-ppo").items() if name != "objective"}
LAYERS: dict[str, dict[str, Any]] = {
    "plain": Settings().flat(),
    "family": Settings().update(**read_preset("atari"), **ATARI_PPO).flat(),
    "preset": Settings().update(**read_preset("a3c-paper")).flat(),
    "file": {"steps": 3000, "envs": (2, 4), "rollout_steps": (7, 8, 9)},
    "flags": FLAGS,
}


@pytest.mark.parametrize("name", NAMES)
def test_the_layers_of_these_tests_differ(name: str) -> None:
    assert len({values[name] for values in LAYERS.values()}) == len(LAYERS)


@pytest.mark.parametrize("name", NAMES)
def test_the_later_layer_wins(file: str, name: str) -> None:
    seen = {
        "plain": Settings(),
        "family": layer("alien"),
        "preset": layer("alien", "a3c-paper"),
        "file": layer("alien", "a3c-paper", file),
        "flags": layer("alien", "a3c-paper", file, **{name: FLAGS[name]}),
    }
    assert {where: settings.flat()[name] for where, settings in seen.items()} == {
        where: values[name] for where, values in LAYERS.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_command_line_layers_in_the_same_way(file: str, name: str) -> None:
    preset, config = ["--preset", "a3c-paper"], ["--config", file]
    value = FLAGS[name]
    flag = [f"--{name.replace('_', '-')}", *map(str, value if isinstance(value, tuple) else (value,))]
    seen = {
        "family": read_arguments(["alien"])[0],
        "preset": read_arguments(["alien", *preset])[0],
        "file": read_arguments(["alien", *preset, *config])[0],
        "flags": read_arguments(["alien", *preset, *config, *flag])[0],
    }
    for where, arguments in seen.items():
        assert arguments.settings().flat()[name] == LAYERS[where][name], where


def test_a_flag_that_repeats_the_plain_default_still_beats_file_and_preset(file: str) -> None:
    typed = ["alien", "--preset", "a3c-paper", "--config", file, "--envs", "8", "--workers", "0"]
    arguments = read_arguments(typed)[0]
    assert arguments.environment.envs == (8,)
    assert arguments.execution.workers == 0


def test_file_and_preset_may_name_the_environment_and_the_argument_beats_them(tmp_path: Path) -> None:
    named = write(tmp_path / "a.toml", 'env = "breakout"')
    assert layer(preset="gru-a3c-pong").env == "PongDeterministic-v4"
    assert layer(preset="gru-a3c-pong", file=named).env == "breakout"
    assert layer("qbert", file=named).env == "qbert"
    assert read_arguments(["--config", named])[0].env == "breakout"


def test_settings_may_stand_under_headings_or_at_the_top(tmp_path: Path) -> None:
    assert read_file(write(tmp_path / "a.toml", "steps = 5\n[policy]\nmemory = 'gru'\n")) == {
        "steps": 5,
        "memory": "gru",
    }


@pytest.mark.parametrize(
    ("env", "family"),
    [("alien", "atari"), ("ALE/Alien-v5", "atari"), ("CartPole-v1", "vectors"), ("hogwild/ProbeAction-v0", "vectors")],
)
def test_an_environment_has_the_defaults_of_its_family(env: str, family: str) -> None:
    settings = layer(env)
    expected = read_preset(family)
    assert settings == settings.update(**expected)
    assert settings.run.steps == expected["steps"] > 0


def test_without_a_stop_rule_the_family_stops_when_solved_or_late() -> None:
    run = layer("CartPole-v1").run
    assert (run.until_return, run.steps, run.minutes) == (475.0, 500_000, 0.0)


@pytest.mark.parametrize("rule", [{"steps": 900}, {"minutes": 2.0}, {"until_return": 50.0}])
def test_a_stop_rule_of_the_user_replaces_those_of_the_family(rule: dict[str, float]) -> None:
    run = layer("CartPole-v1", **rule).run
    kept = {"steps": run.steps, "minutes": run.minutes, "until_return": run.until_return}
    assert kept == {"steps": 0, "minutes": 0.0, "until_return": None} | rule
    flags = [f"--{next(iter(rule)).replace('_', '-')}", str(next(iter(rule.values())))]
    assert read_arguments(["CartPole-v1", *flags])[0].run == run


def test_a_stop_rule_in_a_file_replaces_those_of_the_family(tmp_path: Path) -> None:
    run = layer("CartPole-v1", file=write(tmp_path / "a.toml", "minutes = 2\n")).run
    assert (run.until_return, run.steps, run.minutes) == (None, 0, 2.0)


def test_the_settings_of_another_run_do_not_bring_its_name(tmp_path: Path) -> None:
    """The help of --config says: such as the config.toml of another run. That must not mean that run's folder."""
    other = RunFolder(tmp_path / "other")
    other.create()
    other.write_settings(layer("CartPole-v1", entropy=0.5, name="other"))
    settings = layer(file=str(other.config))
    assert settings.objective.entropy == (0.5,)
    assert settings.run.name == ""


@pytest.mark.parametrize("name", ["a3c-paper", "gru-a3c-pong"])
def test_every_preset_resolves(name: str) -> None:
    assert resolve(layer("pong", name)).spec.num_actions == 6


def test_every_preset_names_known_settings_only() -> None:
    for name in preset_names():
        Settings().update(**read_preset(name))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"preset": "a3c-papr"}, "no preset 'a3c-papr'; did you mean 'a3c-paper'"),
        ({"env": "CartPole"}, "no environment 'CartPole'; did you mean 'CartPole-v"),
        ({"env": "pnog"}, "no environment 'pnog'; did you mean 'pong'"),
        ({"env": "ALE/Pnog-v5"}, "no Atari game 'Pnog'; did you mean 'pong'"),
        ({"env": "CartPole-v1", "entorpy": 1}, "no setting 'entorpy'; did you mean 'entropy'"),
        ({"env": "pong", "protocol": "a3c-2017"}, "no protocol 'a3c-2017'; did you mean 'a3c-2016'"),
    ],
)
def test_a_misspelt_name_gets_the_one_that_was_meant(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(layer(**arguments))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[polcy]\nmemory = 'gru'\n", "no group of settings 'polcy'; did you mean 'policy'"),
        ("[policy]\nmemori = 'gru'\n", "no setting 'memori'; did you mean 'memory'"),
        ("[policy]\nmemory_size = 'big'\n", "'memory_size' must be a whole number"),
        ("steps = \n", "is not valid TOML"),
        ("a = '\xff'", "is not valid TOML"),
    ],
)
def test_a_mistake_in_a_file_is_explained(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError) as caught:
        layer("CartPole-v1", file=str(path))
    assert words in str(caught.value)


@pytest.mark.parametrize("path", ["missing.toml", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, path: str) -> None:
    with pytest.raises(UsageError, match="Cannot read"):
        layer("CartPole-v1", file=str(tmp_path / path))


def test_resolving_fills_in_what_was_left_open() -> None:
    resolved = resolve(layer("CartPole-v1"))
    assert resolved.settings.execution.workers == available_cores() >= 1
    assert resolved.settings.policy.normalise == "off"
    assert resolved.spec.observation_shape == (4,)


@pytest.mark.parametrize(
    ("env", "changes", "has_it", "precision"),
    [
        ("alien", {}, True, "bfloat16"),
        ("alien", {}, False, "float32"),
        ("alien", {"precision": "bfloat16"}, False, "bfloat16"),
        ("alien", {"precision": "float32"}, True, "float32"),
        ("alien", {"engine": "inline"}, True, "float32"),
        ("alien", {"lock": "turns", "record_schedule": True}, True, "float32"),
        ("alien", {"device": "cuda"}, True, "float32"),
        ("CartPole-v1", {}, True, "float32"),
    ],
)
def test_pictures_are_read_in_bfloat16_where_the_processor_has_it_and_nothing_is_to_be_repeated(
    env: str, changes: dict[str, Any], has_it: bool, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hogwild.resolve.has_bfloat16", lambda: has_it)
    monkeypatch.setattr("hogwild.resolve.problems", lambda *_: [])  # there may be no such device here
    assert resolve(layer(env, **changes)).settings.policy.precision == precision


@pytest.mark.parametrize(
    ("changes", "normalise"),
    [({}, "frozen"), ({"preprocess": "universe"}, "off"), ({"normalise": "running"}, "running")],
)
def test_pictures_are_normalised_unless_their_recipe_does_it(changes: dict[str, Any], normalise: str) -> None:
    assert resolve(layer("alien", **changes)).settings.policy.normalise == normalise


def test_resolving_again_changes_nothing() -> None:
    once = resolve(layer("CartPole-v1")).settings
    assert resolve(once).settings == once


def test_without_an_environment_the_message_asks_for_one() -> None:
    with pytest.raises(UsageError, match="Which environment"):
        resolve(layer())


@pytest.mark.parametrize("preset", ["a3c-paper", "gru-a3c-pong"])
def test_a_preset_is_the_same_agent_whatever_the_game(preset: str) -> None:
    pong, breakout = layer("pong", preset).flat(), layer("breakout", preset).flat()
    assert {k for k in pong if pong[k] != breakout[k]} == {"env"}
