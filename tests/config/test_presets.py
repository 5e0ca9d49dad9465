"""Presets: every one is whole, says what it is, and can be trained."""

import json

import pytest

from hogwild.cli.main import run as command
from hogwild.errors import UsageError
from hogwild.resolve import about_preset, layer, preset_names, read_preset, resolve

FAMILIES = {
    "pictures",
    "vectors",
    "control",
    "control-ppo",
    "lunarlander",
    "lunarlandercontinuous-ppo",
    "bipedalwalker-ppo",
    "bipedalwalkerhardcore-ppo",
    "halfcheetah-ppo",
    "ant-ppo",
    "humanoid-ppo",
    "minigrid",
    "threads",
    "ray",
    "vectors-ray",
    "vectors-threads",
    "a3c-trajectories",
    "ppo-trajectories",
}
NAMED = [name for name in preset_names() if name not in FAMILIES]
WITHOUT_ENV = {"usa-neonrace": "pong"}


@pytest.mark.parametrize("name", NAMED)
def test_every_preset_can_be_trained_and_says_what_it_is(name: str) -> None:
    env = "" if "env" in read_preset(name) else WITHOUT_ENV.get(name, "pong")
    resolved = resolve(layer(env, preset=name))
    for setting, value in read_preset(name).items():
        found = resolved.settings.flat()[setting]
        wanted = tuple(value) if isinstance(value, list) else value
        assert found in (wanted, (wanted,)), setting
    assert {"what", "source", "reported"} <= set(about_preset(name))
    assert all(about_preset(name).values())


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_the_defaults_of_families_are_not_offered_as_agents(name: str) -> None:
    assert about_preset(name) == {}


def test_the_list_has_all_of_them_with_their_place_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["presets", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == set(NAMED)
    assert rows["gru-a3c-pong"]["method"] == "a3c × gradients × processes"
    assert rows["rlp-appo-testpong2"]["method"] == "ppo × trajectories × threads"
    assert rows["tf-a3c-gpu-breakout"]["method"] == "a3c × weights × threads"
    assert command(["presets", "--filter", "a3g"]) == 0
    text = capsys.readouterr().out
    assert "a3g-pong" in text
    assert "rllib-appo" not in text


def test_our_own_preset_for_pong_stops_where_pong_is_solved() -> None:
    assert layer(preset="pong").flat() == layer("pong").flat()
    assert layer(preset="pong", steps=1000).run.until_return is None
    assert layer(preset="a3c-paper", env="pong").run.until_return is None, "a published agent has a rule of its own"


def test_a_preset_beats_the_family_and_a_flag_beats_the_preset() -> None:
    settings = layer("pong", preset="a3c-paper", entropy=0.5)
    assert settings.objective.rollout_steps == (5,)
    assert settings.objective.entropy == (0.5,)


def test_an_objective_brings_its_own_defaults() -> None:
    assert layer("pong", objective="ppo").objective.rollout_steps == (64,)
    assert layer("pong", objective="a3c").objective.rollout_steps == (32,)


@pytest.mark.parametrize("env", ["pong", "CartPole-v1", "BipedalWalker-v3"])
@pytest.mark.parametrize("engine", ["processes", "ray"])
def test_only_a3c_sends_gradients_whatever_a_family_prefers(env: str, engine: str) -> None:
    assert resolve(layer(env, engine=engine, exchange="gradients")).settings.objective.objective == "a3c"


def test_many_machines_learn_by_ppo_unless_another_objective_is_named() -> None:
    assert resolve(layer("CartPole-v1", engine="ray")).settings.objective.objective == "ppo"
    assert resolve(layer("CartPole-v1", engine="ray", objective="a3c")).settings.objective.objective == "a3c"


def test_a_family_has_an_objective_unless_one_is_named() -> None:
    assert layer("pong").objective.objective == "ppo"
    assert layer("CartPole-v1").objective.objective == "a3c"
    for named in ("a3c", "vtrace"):
        assert layer("pong", objective=named).objective.objective == named
    assert layer("pong", preset="atari-vtrace").objective.objective == "vtrace"


def test_who_wants_gradients_to_travel_gets_an_objective_that_sends_them() -> None:
    settings = layer("pong", exchange="gradients")
    assert settings.objective.objective == "a3c"
    resolve(settings)


def test_threads_bring_few_workers_with_many_environments() -> None:
    settings = layer("pong", engine="threads")
    assert (settings.execution.workers, settings.environment.envs) == (4, (64,))


def test_a_misspelt_preset_gets_the_nearest() -> None:
    with pytest.raises(UsageError, match="a3g-pong"):
        layer("pong", preset="a3g-pnog")


def test_fewer_environments_are_split_into_fewer_parts() -> None:
    assert layer("pong").objective.minibatches == 4
    assert layer("pong", envs=1).objective.minibatches == 1
    resolve(layer("pong", envs=1))
