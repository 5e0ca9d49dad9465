import dataclasses

import numpy as np
import pytest

from hogwild.config.settings import EnvSettings
from hogwild.envs.atari import AtariBatch
from hogwild.envs.atari_game import AtariGame
from hogwild.envs.gymnasium_batch import GymnasiumBatch
from hogwild.envs.ids import EnvPlan
from hogwild.envs.make import layout_of, make_batch, solved_at
from hogwild.envs.protocols import PROTOCOLS
from hogwild.envs.recipes import make_recipe
from hogwild.errors import EnvironmentFailed
from hogwild.policies.spec import PolicySpec, choice


def rules(**changes):
    return dataclasses.replace(PROTOCOLS["a3c-2016"], **{"noops": 0, **changes})


def make(rom="breakout", num_envs=1, **changes):
    return AtariBatch(rom, rules(**changes), num_envs, (84, 84), frame_stack=4)


@pytest.mark.parametrize(("rom", "picture"), [("pong", (84, 84)), ("breakout", (84, 84)), ("pong", (42, 40))])
def test_the_batch_agrees_with_the_python_game_bit_by_bit(rom, picture):
    game, batch = AtariGame(rom, rules(), make_recipe("standard", picture)), AtariBatch(rom, rules(), 1, picture, 4)
    assert np.array_equal(game.reset(seed=0)[0], batch.reset([0])[0])
    random = np.random.default_rng(0)
    ends = 0
    for _ in range(400):
        action = random.integers(batch.spec.num_actions)
        observation, reward, terminated, truncated, info = game.step(action)
        if terminated or truncated:
            ends += 1
            observation, _ = game.reset()
        step = batch.step(np.array([action]))
        assert np.array_equal(observation, step.observations[0])
        assert (reward, terminated, info["game_over"]) == (step.rewards[0], step.terminated[0], step.game_over[0])
        assert truncated == step.truncated[0]
    assert (ends > 0) == (rom == "breakout")


def test_the_batch_has_the_shape_it_promises():
    batch = AtariBatch("pong", rules(), num_envs=2, picture=(42, 40), frame_stack=3, threads=2)
    assert batch.spec == PolicySpec((3, 42, 40), "uint8", choice(6))
    observations = batch.reset([1, 2])
    step = batch.step(np.array([0, 5]))
    for array in (observations, step.observations):
        assert (array.shape, array.dtype) == ((2, 3, 42, 40), np.uint8)
    for array in (step.rewards, step.terminated, step.truncated, step.game_over):
        assert array.shape == (2,)
    assert step.final_observations is None


def test_different_seeds_give_different_games_and_equal_seeds_equal_ones():
    batch = make("pong", 3, noops=30, sticky=0.25)
    batch.reset([1, 2, 1])
    for _ in range(30):
        step = batch.step(np.array([2, 2, 2]))
    assert not np.array_equal(step.observations[0], step.observations[1])
    assert np.array_equal(step.observations[0], step.observations[2])


def test_a_reset_with_the_same_seeds_begins_the_same_games():
    batch = make("breakout", 2, noops=30)
    first = batch.reset([3, 4]).copy()
    assert not np.array_equal(first[0], first[1])
    batch.step(np.array([1, 1]))
    assert np.array_equal(batch.reset([3, 4]), first)


def test_observations_stay_as_they_were_when_the_batch_steps_on():
    batch = make("pong")
    batch.reset([0])
    step = batch.step(np.array([0]))
    kept = step.observations.copy()
    for _ in range(20):
        following = batch.step(np.array([2]))
    assert np.array_equal(step.observations, kept)
    assert not np.array_equal(following.observations, kept)


@pytest.mark.timeout(20, method="thread")  # a hanging emulator hears no signals
def test_an_action_out_of_range_fails_at_once_and_does_no_harm():
    batch = make("breakout", 2)
    batch.reset([0, 1])
    for actions in ([4, 0], [0, -1], [99, 99]):
        with pytest.raises(EnvironmentFailed, match="action out of range 0…3") as caught:
            batch.step(np.array(actions))
        assert str(actions) in str(caught.value)
    assert batch.step(np.array([3, 0])).rewards.shape == (2,)


def test_a_lost_life_ends_the_episode_but_not_the_game():
    batch = make("breakout")
    batch.reset([0])
    ends = []
    while True:
        step = batch.step(np.array([1]))
        assert step.terminated[0] or not step.game_over[0]
        if step.terminated[0]:
            ends.append(bool(step.game_over[0]))
        if step.game_over[0]:
            break
    assert ends == [False, False, False, False, True]


def test_whole_games_do_not_end_with_a_life():
    batch = make("breakout", life_loss=False)
    batch.reset([0])
    for _ in range(60):
        step = batch.step(np.array([1]))
        assert not step.terminated[0]


def test_the_frame_limit_cuts_a_game_off_and_keeps_its_last_observation():
    batch = make("breakout", 2, frame_limit=40)
    game = AtariGame("breakout", rules(), make_recipe("standard"))
    first = batch.reset([0, 1]).copy()
    game.reset(seed=0)
    for _ in range(9):
        step = batch.step(np.array([2, 3]))
        game.step(2)
        assert not np.any([step.truncated, step.terminated, step.game_over])
    step = batch.step(np.array([2, 3]))
    last = game.step(2)[0]
    assert step.truncated.tolist() == step.game_over.tolist() == [True, True]
    assert step.terminated.tolist() == [False, False]
    assert np.array_equal(step.observations, first)
    final = step.final_observations
    assert final.shape == (2, 4, 84, 84)
    assert np.array_equal(final[0, :3], last[:3])
    assert np.count_nonzero(final[0, 3] != last[3]) < 100  # the emulator pools the very last frame differently
    assert not np.array_equal(final[0], final[1])


def test_games_end_apart_from_each_other():
    batch = make("breakout", 2)
    batch.reset([0, 0])
    apart = False
    for count in range(60):
        step = batch.step(np.array([1, count % 4]))
        apart |= bool(step.terminated[0] != step.terminated[1])
    assert apart


def test_the_batch_cannot_be_saved_and_says_so():
    batch = make("pong")
    batch.reset([0])
    assert batch.state() is None
    with pytest.raises(EnvironmentFailed, match="cannot be restored"):
        batch.load_state({})
    assert batch.carried() == []


@pytest.mark.parametrize(
    ("recipe", "protocol", "kind"),
    [
        ("standard", "a3c-2016", AtariBatch),
        ("standard", "machado-2018", AtariBatch),
        ("standard", "gym-v4", GymnasiumBatch),
        ("universe", "universe", GymnasiumBatch),
    ],
)
def test_only_the_standard_recipe_with_a_fixed_skip_is_stepped_in_cpp(recipe, protocol, kind):
    plan = EnvPlan("pong", "pong", PROTOCOLS[protocol], recipe)
    batch = make_batch(plan, EnvSettings(), num_envs=1)
    assert type(batch) is kind
    assert batch.spec == layout_of(plan, EnvSettings(), 60.0).spec
    assert batch.spec.num_actions == (18 if protocol == "machado-2018" else 6)
    batch.close()


def test_settings_reach_the_batch():
    plan = EnvPlan("pong", "pong", PROTOCOLS["a3c-2016"], "standard")
    for settings, shape in (({"image_size": 50}, (50, 50)), ({"image_size": 42, "image_width": 40}, (42, 40))):
        batch = make_batch(plan, EnvSettings(**settings, frame_stack=2), num_envs=2)
        assert batch.num_envs == 2
        assert batch.reset([0, 1]).shape == (2, 2, *shape)
        batch.close()


@pytest.mark.parametrize(("rom", "score"), [("pong", 18.5), ("breakout", None)])
def test_only_games_with_an_agreed_score_can_be_solved(rom, score):
    assert solved_at(EnvPlan(rom, rom, PROTOCOLS["a3c-2016"], "standard")) == score
