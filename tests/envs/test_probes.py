import gymnasium
import numpy as np
import pytest

from hogwild.envs.probes import PROBES

ONE_ACTION = ["hogwild/ProbeConstant-v0", "hogwild/ProbeObservation-v0", "hogwild/ProbeDelayed-v0"]
TWO_ACTIONS = ["hogwild/ProbeAction-v0", "hogwild/ProbeObservationAction-v0"]
RANDOM = ["hogwild/ProbeObservation-v0", "hogwild/ProbeObservationAction-v0"]


def episodes(name, choose, count=40):
    """Episodes of a probe, each a list of what was seen, what that earned, and whether it was the end."""
    env = gymnasium.make(name)
    played = []
    for index in range(count):
        observation, info = env.reset(seed=5 if index == 0 else None)
        assert info == {}
        steps, terminated = [], False
        while not terminated:
            seen = float(observation[0])
            observation, reward, terminated, truncated, info = env.step(choose(seen))
            assert not truncated
            assert info == {}
            steps.append((seen, reward, terminated))
        played.append(steps)
    return played


def test_there_are_five_probes_and_all_are_registered():
    assert len(PROBES) == 5
    assert set(PROBES) == {*ONE_ACTION, *TWO_ACTIONS}
    assert set(PROBES) <= set(gymnasium.registry)


@pytest.mark.parametrize("name", PROBES)
def test_every_probe_shows_one_number_and_has_its_actions(name):
    env = gymnasium.make(name)
    assert env.observation_space == gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    assert env.action_space.n == (1 if name in ONE_ACTION else 2)
    observation, _ = env.reset(seed=0)
    assert observation.dtype == np.float32
    assert observation in env.observation_space


def test_constant_always_earns_one_in_one_step():
    assert episodes("hogwild/ProbeConstant-v0", lambda seen: 0) == [[(1.0, 1.0, True)]] * 40


def test_observation_earns_what_is_seen():
    played = episodes("hogwild/ProbeObservation-v0", lambda seen: 0)
    assert all(episode in ([(1.0, 1.0, True)], [(-1.0, -1.0, True)]) for episode in played)


def test_delayed_earns_one_in_its_second_and_last_step():
    played = episodes("hogwild/ProbeDelayed-v0", lambda seen: 0)
    assert played == [[(1.0, 0.0, False), (-1.0, 1.0, True)]] * 40


@pytest.mark.parametrize(("action", "reward"), [(0, -1.0), (1, 1.0)])
def test_action_earns_by_what_is_done(action, reward):
    assert episodes("hogwild/ProbeAction-v0", lambda seen: action) == [[(1.0, reward, True)]] * 40


@pytest.mark.parametrize(
    ("choose", "reward"),
    [(lambda seen: int(seen > 0), {1.0}), (lambda seen: int(seen < 0), {-1.0}), (lambda seen: 1, {1.0, -1.0})],
    ids=["matching", "opposite", "blind"],
)
def test_observation_action_earns_only_by_matching_what_is_seen(choose, reward):
    played = episodes("hogwild/ProbeObservationAction-v0", choose)
    assert {step[1] for episode in played for step in episode} == reward
    assert all(len(episode) == 1 for episode in played)


@pytest.mark.parametrize("name", RANDOM)
def test_what_is_seen_is_a_fair_coin(name):
    seen = [episode[0][0] for episode in episodes(name, lambda seen: 0, count=400)]
    assert set(seen) == {1.0, -1.0}
    assert 150 < seen.count(1.0) < 250


@pytest.mark.parametrize("name", RANDOM)
def test_the_coin_is_tossed_by_the_seed(name):
    env = gymnasium.make(name)
    tosses = [[env.reset(seed=seed)[0][0], *(env.reset()[0][0] for _ in range(20))] for seed in (1, 1, 2)]
    assert tosses[0] == tosses[1]
    assert tosses[0] != tosses[2]


@pytest.mark.parametrize("name", PROBES)
def test_a_new_episode_begins_at_the_beginning(name):
    probe = PROBES[name]
    lengths = {len(episode) for episode in episodes(name, lambda seen: 0, count=5)}
    assert lengths == {probe.episode_steps}


@pytest.mark.parametrize(
    ("name", "best"), [(name, 0.0 if name == "hogwild/ProbeObservation-v0" else 1.0) for name in PROBES]
)
def test_the_best_return_is_what_a_perfect_player_earns_on_average(name, best):
    assert PROBES[name].best_return == best
    perfect = (lambda seen: int(seen > 0)) if name in TWO_ACTIONS else (lambda seen: 0)
    played = episodes(name, perfect, count=400)
    mean = sum(step[1] for episode in played for step in episode) / len(played)
    assert mean == pytest.approx(best, abs=0.2)
