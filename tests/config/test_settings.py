"""Settings by their names: brought to their type, or refused with the name that was meant."""

import dataclasses
from typing import Any

import pytest

from hogwild.config.lookup import find_setting
from hogwild.config.settings import Settings, of_worker, setting_groups
from hogwild.config.suggest import unknown
from hogwild.errors import UsageError


def test_every_setting_has_one_name_only() -> None:
    names = [f.name for kind in setting_groups().values() for f in dataclasses.fields(kind)]
    assert len(names) == len(set(names))
    assert set(Settings().flat()) == {"env", *names}


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("env", "pong", "pong"),
        ("entropy", 0.02, (0.02,)),
        ("entropy", 1, (1.0,)),
        ("entropy", [0.1, 0], (0.1, 0.0)),
        ("envs", (4, 8.0), (4, 8)),
        ("memory_size", 128.0, 128),
        ("minutes", 3, 3.0),
        ("until_return", None, None),
        ("until_return", -21, -21.0),
        ("life_loss", False, False),
        ("life_loss", None, None),
        ("encoder", "nature", "nature"),
        ("split", True, True),
    ],
)
def test_a_value_is_brought_to_the_type_of_its_setting(name: str, given: Any, kept: Any) -> None:
    value = Settings().update(**{name: given}).flat()[name]
    assert value == kept
    assert type(value) is type(kept)
    if isinstance(kept, tuple):
        assert [type(item) for item in value] == [type(item) for item in kept]


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("memory_size", 2.5, "'memory_size' must be a whole number, not 2.5"),
        ("memory_size", "many", "'memory_size' must be a whole number, not 'many'"),
        ("memory_size", True, "'memory_size' must be a whole number, not True"),
        ("memory_size", float("inf"), "'memory_size' must be a whole number"),
        ("memory_size", None, "'memory_size' must be a whole number"),
        ("entropy", "high", "'entropy' must be a number, not 'high'"),
        ("entropy", [0.1, "high"], "'entropy' must be a number, not 'high'"),
        ("entropy", [], "'entropy' is an empty list"),
        ("entropy", [[0.1]], "'entropy' must be a number"),
        ("until_return", "soon", "'until_return' must be a number"),
        ("life_loss", 1, "'life_loss' must be true or false, not 1"),
        ("split", "yes", "'split' must be true or false"),
        ("name", 3, "'name' must be text, not 3"),
        ("env", 3, "'env' must be text, not 3"),
        ("memory", "lstmm", "choice for 'memory': 'lstmm'; did you mean 'lstm'"),
        ("memory", ["gru"], "choice for 'memory'"),
        ("optimizer", 7, "choice for 'optimizer'"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_by_name(name: str, given: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        Settings().update(**{name: given})
    assert words in str(caught.value)


@pytest.mark.parametrize(("misspelt", "meant"), [("entorpy", "entropy"), ("rollout_step", "rollout_steps"), ("lr", "")])
def test_an_unknown_setting_is_refused_with_the_nearest_name(misspelt: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"no setting '{misspelt}'") as caught:
        Settings().update(**{misspelt: 1})
    assert ("did you mean" in str(caught.value)) == bool(meant)
    assert meant in str(caught.value)


def test_updating_changes_a_copy_and_nothing_else() -> None:
    before = Settings()
    after = before.update(entropy=0.5, env="pong")
    assert before == Settings()
    assert {k for k, v in after.flat().items() if v != before.flat()[k]} == {"entropy", "env"}


def test_settings_cannot_be_changed_in_place() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().objective.returns = "n-step"  # type: ignore[misc]


def test_a_whole_group_can_be_replaced() -> None:
    other = Settings().update(memory="gru", entropy=0.5)
    taken = Settings().with_group("policy", other.policy)
    assert taken.policy.memory == "gru"
    assert taken.objective == Settings().objective


def test_a_list_goes_round_among_workers() -> None:
    assert [of_worker((16, 32, 64), rank) for rank in range(7)] == [16, 32, 64, 16, 32, 64, 16]


def test_a_setting_is_found_in_its_group() -> None:
    group, field = find_setting("memory_size")
    assert (group, field.name) == ("policy", "memory_size")
    assert find_setting("env")[0] == ""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pnog", "There is no game 'pnog'; did you mean 'pong'?"),
        ("PONG", "There is no game 'PONG'; did you mean 'pong'?"),
        ("xyz", "There is no game 'xyz'. Known: Qbert, pong."),
    ],
)
def test_a_misspelt_name_gets_the_nearest_or_all(name: str, words: str) -> None:
    assert str(unknown("game", name, ["pong", "Qbert"])) == words


def test_a_long_list_of_names_is_not_recited() -> None:
    assert str(unknown("game", "xyz", [f"game-{i}" for i in range(50)])) == "There is no game 'xyz'."
    assert str(unknown("game", "xyz", ["pong"], hint="Try pong.")) == "There is no game 'xyz'. Try pong."
