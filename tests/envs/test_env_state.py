import copy
import dataclasses
from collections import deque

import gymnasium
import numpy as np
import pytest

from hogwild.envs.atari_game import AtariGame
from hogwild.envs.env_state import Unsavable, load_env, save_env
from hogwild.envs.probes import PROBES
from hogwild.envs.protocols import PROTOCOLS
from hogwild.envs.recipes import make_recipe


def play(env, steps, seed):
    """Everything that random play shows, with a reset after every end, and how many ends there were."""
    random = np.random.default_rng(seed)
    record, ends = [], 0
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = env.step(random.integers(env.action_space.n))
        record.append((observation.copy(), reward, terminated, truncated))
        if terminated or truncated:
            ends += 1
            record.append((env.reset()[0].copy(), 0.0, False, False))
    return record, ends


def same(first, second):
    return len(first) == len(second) and all(
        np.array_equal(a[0], b[0]) and a[1:] == b[1:] for a, b in zip(first, second, strict=True)
    )


def goes_on_exactly(make, steps_before):
    """Whether a fresh environment goes on from a saved state like the saved one, through at least one reset."""
    env = make()
    env.reset(seed=3)
    play(env, steps_before, seed=1)
    saved = save_env(env)
    record, ends = play(env, 200, seed=2)
    assert ends > 0
    fresh = make()
    load_env(fresh, saved)
    return same(record, play(fresh, 200, seed=2)[0])


@pytest.mark.parametrize(
    ("name", "steps_before"),
    [("CartPole-v1", 50), ("MountainCar-v0", 50), ("Acrobot-v1", 350), *((name, 5) for name in PROBES)],
)
def test_an_environment_goes_on_exactly_in_a_fresh_one(name, steps_before):
    assert goes_on_exactly(lambda: gymnasium.make(name), steps_before)


@pytest.mark.parametrize("recipe", ["standard", "a3g"])
def test_an_atari_game_goes_on_exactly_in_a_fresh_one(recipe):
    protocol = PROTOCOLS["a3g" if recipe == "a3g" else "a3c-2016"]
    assert goes_on_exactly(lambda: AtariGame("breakout", protocol, make_recipe(recipe)), 30)


def test_an_atari_game_inside_a_wrapper_goes_on_exactly():
    protocol = dataclasses.replace(PROTOCOLS["a3c-2016"], noops=5)

    def make():
        return gymnasium.wrappers.TimeLimit(AtariGame("breakout", protocol, make_recipe("standard")), 70)

    assert goes_on_exactly(make, 30)


def test_without_the_saved_state_a_fresh_environment_plays_differently():
    env, fresh = gymnasium.make("CartPole-v1"), gymnasium.make("CartPole-v1")
    env.reset(seed=3)
    fresh.reset(seed=4)
    assert not same(play(env, 200, seed=2)[0], play(fresh, 200, seed=2)[0])


def test_a_saved_state_is_not_changed_by_playing_on_and_can_be_loaded_twice():
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=3)
    saved = save_env(env)
    kept = copy.deepcopy(saved)
    record, _ = play(env, 50, seed=1)
    for _ in range(2):
        load_env(env, saved)
        assert same(record, play(env, 50, seed=1)[0])
    np.testing.assert_equal(saved, kept)


def test_every_wrapper_has_its_layer_and_the_time_limit_goes_on():
    env = gymnasium.make("CartPole-v1", max_episode_steps=10)
    env.reset(seed=3)
    for count in range(4):
        env.step(count % 2)
    saved = save_env(env)
    fresh = gymnasium.make("CartPole-v1", max_episode_steps=10)
    load_env(fresh, saved)
    truncated = [fresh.step(count % 2)[3] for count in range(6)]
    assert truncated == [False] * 5 + [True]


def test_a_state_with_other_wrappers_is_refused():
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=3)
    saved = save_env(env)
    with pytest.raises(ValueError, match="zip"):
        load_env(env.unwrapped, saved)


# What environments may hold


class Holder(gymnasium.Env):
    """Holds one thing."""

    def __init__(self, thing=None):
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.thing = thing


@pytest.mark.parametrize(
    "thing",
    [
        None,
        True,
        7,
        0.1,
        "text",
        np.float32(0.1),
        np.int64(7),
        np.arange(6).reshape(2, 3),
        np.array([True, False]),
        [1, [2.5, "three"], None],
        (1, (2, np.arange(3))),
        deque([1, 2, 3], maxlen=3),
        deque([1, 2, 3]),
        {"a": 1, "b": {"c": (2, [3])}},
        [],
        (),
        {},
        {"generator": 1},
        {"items": [1], "collection": "tuple"},
    ],
    ids=repr,
)
def test_plain_things_are_saved_and_come_back_as_they_were(thing):
    fresh = Holder()
    load_env(fresh, save_env(Holder(thing)))
    assert type(fresh.thing) is type(thing)
    np.testing.assert_equal(fresh.thing, thing)
    if isinstance(thing, deque):
        assert fresh.thing.maxlen == thing.maxlen
    if isinstance(thing, np.ndarray | np.generic):
        assert fresh.thing.dtype == thing.dtype


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_random_generators_go_on_with_the_same_numbers(kind):
    env, fresh = Holder(np.random.Generator(kind(1))), Holder()
    env.thing.random(5)
    env.thing.integers(10, dtype=np.int32)
    load_env(fresh, save_env(env))
    assert fresh.thing is not env.thing
    assert fresh.thing.random(10).tolist() == env.thing.random(10).tolist()


def test_restored_arrays_and_lists_are_copies():
    env, fresh = Holder([np.zeros(3), [1]]), Holder()
    saved = save_env(env)
    load_env(fresh, saved)
    env.thing[0][:] = 1
    env.thing[1].append(2)
    assert fresh.thing[0].tolist() == [0, 0, 0]
    assert fresh.thing[1] == [1]
    fresh.thing[0][:] = 5
    again = Holder()
    load_env(again, saved)
    assert again.thing[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("thing", "kind"),
    [
        (object(), "object"),
        ({1, 2}, "set"),
        ({1: 2}, "dict"),
        ([1, (2, object())], "object"),
        ({"a": object()}, "object"),
        (b"bytes", "bytes"),
        (np.random.RandomState(1), "RandomState"),
    ],
    ids=["object", "set", "dict with numbers", "inside a tuple", "inside a dict", "bytes", "old generator"],
)
def test_what_cannot_be_saved_is_named_with_its_attribute(thing, kind):
    with pytest.raises(Unsavable) as caught:
        save_env(Holder(thing))
    assert str(caught.value) == f"Holder.thing is of type {kind}"


def test_what_a_wrapper_holds_counts_too():
    class Odd(gymnasium.Wrapper):
        def __init__(self, env):
            super().__init__(env)
            self.world = object()

    with pytest.raises(Unsavable, match=r"Odd\.world is of type object"):
        save_env(Odd(Holder(1)))


def test_an_environments_own_way_to_save_itself_is_taken():
    class Own(Holder):
        def save_state(self):
            return {"secret": 42}

        def load_state(self, state):
            self.loaded = state

    fresh = Own(object())
    load_env(fresh, save_env(Own(object())))
    assert fresh.loaded == {"secret": 42}
