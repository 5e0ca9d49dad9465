import pytest

from hogwild.config.settings import Settings
from hogwild.envs import ids
from hogwild.envs.ids import atari_roms, camel_case, plan_env
from hogwild.errors import UsageError


def plan(name, **changes):
    return plan_env(Settings(env=name).update(**changes))


def refusal(name, **changes):
    with pytest.raises(UsageError) as caught:
        plan(name, **changes)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "rom", "protocol"),
    [
        ("pong", "pong", "a3c-2016"),
        ("Pong", "pong", "a3c-2016"),
        ("space-invaders", "space_invaders", "a3c-2016"),
        ("space_invaders", "space_invaders", "a3c-2016"),
        ("SpaceInvaders", "space_invaders", "a3c-2016"),
        ("ALE/Pong-v5", "pong", "v5"),
        ("ALE/SpaceInvaders-v5", "space_invaders", "v5"),
        ("ale_py:ALE/Pong-v5", "pong", "v5"),
        ("PongNoFrameskip-v4", "pong", "a3c-2016"),
        ("PongDeterministic-v4", "pong", "a3c-2016"),
        ("PongDeterministic-v0", "pong", "a3c-2016*"),
        ("PongNoFrameskip-v0", "pong", "a3c-2016*"),
        ("Pong-v0", "pong", "gym-v0"),
        ("Pong-v4", "pong", "gym-v4"),
        ("MsPacman-v4", "ms_pacman", "gym-v4"),
    ],
)
def test_each_form_of_an_atari_id_leads_to_its_rom_and_protocol(name, rom, protocol):
    found = plan(name)
    assert (found.rom, found.protocol.name, found.recipe) == (rom, protocol, "standard")
    assert found.is_atari
    assert found.id == name


@pytest.mark.parametrize("name", ["PongDeterministic-v0", "PongNoFrameskip-v0", "Pong-v0"])
def test_old_v0_ids_have_sticky_actions(name):
    assert plan(name).protocol.sticky == 0.25


@pytest.mark.parametrize("name", ["PongDeterministic-v4", "PongNoFrameskip-v4", "Pong-v4", "pong"])
def test_old_v4_ids_and_short_names_have_no_sticky_actions(name):
    assert plan(name).protocol.sticky == 0.0


@pytest.mark.parametrize(
    ("name", "skip"),
    [("Pong-v0", (2, 4)), ("Pong-v4", (2, 4)), ("PongDeterministic-v0", (4, 4)), ("PongNoFrameskip-v4", (4, 4))],
)
def test_only_plain_old_ids_skip_a_random_number_of_frames(name, skip):
    assert plan(name).protocol.frame_skip == skip


@pytest.mark.parametrize(("name", "frames"), [("pong", 4.0), ("Pong-v4", 3.0), ("CartPole-v1", 1.0)])
def test_frames_per_step_is_the_mean_of_the_skip(name, frames):
    assert plan(name).frames_per_step == frames


@pytest.mark.parametrize("name", ["CartPole-v1", "hogwild/ProbeConstant-v0", "some_module:Id-v0", "a.b:Pong-v0"])
def test_other_environments_are_no_atari_games(name):
    found = plan(name)
    assert (found.id, found.rom, found.protocol, found.recipe) == (name, "", None, "none")
    assert not found.is_atari


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("pnog", "'pong'"),
        ("ALE/Pnog-v5", "'pong'"),
        ("ale_py:ALE/Pnog-v5", "'pong'"),
        ("space_invader", "'space_invaders'"),
        ("CartPol-v1", "'CartPole-v1'"),
        ("cartpole", "'CartPole-v1'"),
        ("hogwild/ProbeConstnt-v0", "'hogwild/ProbeConstant-v0'"),
    ],
)
def test_a_misspelt_id_says_what_was_probably_meant(name, meant):
    message = refusal(name)
    assert "did you mean" in message
    assert meant in message


def test_an_id_unlike_any_other_says_how_to_name_an_environment_of_ones_own():
    message = refusal("xyzzy")
    assert "There is no environment 'xyzzy'" in message
    assert "module:Id-v0" in message


def test_no_id_at_all_is_refused_with_an_example():
    assert "hogwild train pong" in refusal("")


@pytest.mark.parametrize("name", ["pong", "ALE/Pong-v5"])
def test_atari_without_the_emulator_says_what_to_install(name, monkeypatch):
    monkeypatch.setattr(ids, "atari_roms", dict)
    assert "pip install 'hogwild[atari]'" in refusal(name)


def test_other_environments_need_no_emulator(monkeypatch):
    monkeypatch.setattr(ids, "atari_roms", dict)
    assert plan("CartPole-v1").id == "CartPole-v1"


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("ALE/Pong-v5", "4 frames"),
        ("PongDeterministic-v4", "4 frames"),
        ("Pong-v4", "2 to 4 frames"),
        ("Pong-v0", "2 to 4 frames"),
    ],
)
def test_a_doubled_frame_skip_is_refused_and_the_way_out_named(name, own):
    message = refusal(name, frame_skip=3)
    assert own in message
    assert "--frame-skip 3" in message
    assert "doubled frame-skip" in message
    assert "PongNoFrameskip-v4" in message


@pytest.mark.parametrize("name", ["PongNoFrameskip-v4", "pong"])
def test_ids_without_a_skip_of_their_own_take_any(name):
    found = plan(name, frame_skip=3)
    assert found.protocol.frame_skip == (3, 3)
    assert found.protocol.name == "a3c-2016*"


def test_repeating_the_skip_that_an_id_has_anyway_is_fine():
    assert plan("ALE/Pong-v5", frame_skip=4).protocol.name == "v5"


@pytest.mark.parametrize(
    ("setting", "value", "flag"),
    [
        ("protocol", "v5", "--protocol"),
        ("frame_skip", 4, "--frame-skip"),
        ("sticky", 0.0, "--sticky"),
        ("noops", 0, "--noops"),
        ("life_loss", False, "--life-loss"),
        ("fire_reset", False, "--fire-reset"),
        ("full_actions", False, "--full-actions"),
        ("frame_limit", 1000, "--frame-limit"),
        ("preprocess", "universe", "--preprocess"),
    ],
)
def test_atari_settings_are_refused_elsewhere_by_flag(setting, value, flag):
    message = refusal("CartPole-v1", **{setting: value})
    assert message == f"{flag}: only for Atari games, and 'CartPole-v1' is none."


def test_all_refused_flags_are_named_at_once():
    message = refusal("CartPole-v1", preprocess="ocd", noops=0, sticky=0.25)
    assert message.startswith("--preprocess, --sticky, --noops: ")


@pytest.mark.parametrize("changes", [{"preprocess": "none"}, {"reward_clip": 1.0}, {"reward_scale": 0.1}])
def test_settings_that_make_sense_anywhere_are_accepted_anywhere(changes):
    assert plan("CartPole-v1", **changes).id == "CartPole-v1"


@pytest.mark.parametrize(
    ("recipe", "protocol"), [("universe", "universe"), ("a3g", "a3g"), ("ocd", "ocd"), ("ocd-pong", "ocd")]
)
@pytest.mark.parametrize("name", ["pong", "ALE/Pong-v5", "PongNoFrameskip-v4"])
def test_recipes_of_published_agents_bring_their_own_protocol(name, recipe, protocol):
    found = plan(name, preprocess=recipe)
    assert (found.recipe, found.protocol.name) == (recipe, protocol)


def test_a_named_protocol_wins_over_recipe_and_id():
    found = plan("ALE/Pong-v5", preprocess="a3g", protocol="machado-2018")
    assert (found.recipe, found.protocol.name) == ("a3g", "machado-2018")


def test_an_atari_game_without_a_recipe_is_refused():
    assert "--preprocess standard" in refusal("pong", preprocess="none")


def test_a_misspelt_protocol_says_what_was_probably_meant():
    assert "did you mean 'a3c-2016'" in refusal("pong", protocol="a3c-2015")


@pytest.mark.parametrize(
    "change",
    [
        {"sticky": 0.25},
        {"noops": 10},
        {"life_loss": False},
        {"fire_reset": False},
        {"full_actions": True},
        {"frame_limit": 5000},
        {"reward_clip": 0.0},
    ],
)
def test_a_single_changed_rule_is_marked_in_the_protocols_name(change):
    protocol = plan("pong", **change).protocol
    assert protocol.name == "a3c-2016*"
    ((rule, value),) = change.items()
    assert getattr(protocol, rule) == value


def test_a_rule_set_to_what_it_is_anyway_changes_nothing():
    assert plan("pong", sticky=0.0, noops=30).protocol.name == "a3c-2016"


def test_the_camel_case_name_of_every_rom_leads_back_to_it():
    assert len(atari_roms()) > 50
    for rom in atari_roms().values():
        assert plan(f"ALE/{camel_case(rom)}-v5").rom == rom
