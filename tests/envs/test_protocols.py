import dataclasses

import pytest

from hogwild.config.settings import EnvSettings
from hogwild.envs.protocols import PROTOCOLS, RECIPE_PROTOCOLS, Protocol, adjust, find_protocol
from hogwild.errors import UsageError


@pytest.mark.parametrize(
    ("name", "skip", "sticky", "noops", "life_loss", "fire", "full", "limit", "clip"),
    [
        ("a3c-2016", (4, 4), 0.0, 30, True, True, False, 108_000, 1.0),
        ("dqn-2015", (4, 4), 0.0, 30, True, False, False, 18_000, 1.0),
        ("machado-2018", (5, 5), 0.25, 0, False, False, True, 18_000, 1.0),
        ("v5", (4, 4), 0.25, 0, False, True, False, 108_000, 1.0),
        ("gym-v4", (2, 4), 0.0, 30, True, True, False, 108_000, 1.0),
        ("gym-v0", (2, 4), 0.25, 30, True, True, False, 108_000, 1.0),
        ("universe", (4, 4), 0.0, 0, False, False, False, 108_000, 0.0),
        ("a3g", (4, 4), 0.0, 30, True, True, False, 40_000, 1.0),
        ("ocd", (4, 4), 0.0, 30, True, False, False, 108_000, 1.0),
    ],
)
def test_each_protocol_has_the_rules_it_is_known_for(name, skip, sticky, noops, life_loss, fire, full, limit, clip):
    found = dataclasses.replace(find_protocol(name), about="")
    assert found == Protocol(name, skip, sticky, noops, life_loss, fire, full, limit, clip)


def test_every_protocol_says_what_it_is_about_and_is_filed_under_its_name():
    assert all(protocol.about and protocol.name == name for name, protocol in PROTOCOLS.items())


def test_a_misspelt_protocol_is_refused_with_the_nearest():
    with pytest.raises(UsageError, match="There is no protocol 'machado-2108'; did you mean 'machado-2018'"):
        find_protocol("machado-2108")


def test_an_unknown_protocol_is_refused_with_all_names():
    with pytest.raises(UsageError) as caught:
        find_protocol("xyzzy")
    assert all(name in str(caught.value) for name in PROTOCOLS)


def test_every_recipes_protocol_exists():
    assert set(RECIPE_PROTOCOLS.values()) <= set(PROTOCOLS)


def test_a_description_names_every_rule():
    assert PROTOCOLS["machado-2018"].describe() == (
        "machado-2018: skip 5, sticky 0.25, no no-ops, whole games, no fire start, 18 actions, clip ±1, 18,000 frames"
    )
    assert PROTOCOLS["universe"].describe() == (
        "universe: skip 4, sticky 0, no no-ops, whole games, no fire start, minimal actions, no clip, 108,000 frames"
    )
    assert "skip 2–4, sticky 0.25, no-ops ≤30, life loss ends, fire start" in PROTOCOLS["gym-v0"].describe()


def test_untouched_settings_leave_a_protocol_as_it_is():
    assert adjust(PROTOCOLS["v5"], EnvSettings()) is PROTOCOLS["v5"]


@pytest.mark.parametrize(
    ("setting", "value", "rule"),
    [
        ("frame_skip", 2, (2, 2)),
        ("sticky", 0.1, 0.1),
        ("noops", 7, 7),
        ("life_loss", True, True),
        ("fire_reset", False, False),
        ("full_actions", True, True),
        ("frame_limit", 99, 99),
        ("reward_clip", 0.0, 0.0),
    ],
)
def test_one_setting_changes_one_rule_and_the_name(setting, value, rule):
    changed = adjust(PROTOCOLS["v5"], EnvSettings(**{setting: value}))
    assert changed == dataclasses.replace(PROTOCOLS["v5"], name="v5*", **{setting: rule})


def test_a_name_is_marked_only_once():
    once = adjust(PROTOCOLS["v5"], EnvSettings(noops=7))
    twice = adjust(once, EnvSettings(sticky=0.0))
    assert (twice.name, twice.noops, twice.sticky) == ("v5*", 7, 0.0)


def test_fixing_a_random_frame_skip_at_its_upper_end_is_a_change():
    changed = adjust(PROTOCOLS["gym-v4"], EnvSettings(frame_skip=4))
    assert (changed.name, changed.frame_skip) == ("gym-v4*", (4, 4))
