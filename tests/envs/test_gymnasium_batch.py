import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Sequence, Text

from hogwild.config.settings import EnvSettings
from hogwild.envs.foreign import guarded
from hogwild.envs.gymnasium_batch import SEED_STEPS, GymnasiumBatch, next_seed
from hogwild.envs.ids import EnvPlan
from hogwild.envs.layout import read_layout
from hogwild.envs.make import can_be_drawn, layout_of, make_batch, solved_at
from hogwild.envs.protocols import PROTOCOLS
from hogwild.errors import EnvironmentFailed, UsageError
from hogwild.policies.spec import PolicySpec, choice


class Counter(gymnasium.Env):
    """Shows how many steps it has made, and the last action; ends as it is told to."""

    def __init__(self, terminates=0, truncates=0, start=0, render_mode=None):
        self.observation_space = Box(-100.0, 100.0, (2,), np.float64)
        self.action_space = Discrete(3, start=start)
        self.terminates, self.truncates = terminates, truncates
        self.render_mode = render_mode
        self.count, self.action = 0, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count, self.action = 0, 0
        return self.show(), {}

    def step(self, action):
        assert action in self.action_space
        self.count += 1
        self.action = int(action)
        return self.show(), float(self.count), self.count == self.terminates, self.count == self.truncates, {}

    def show(self):
        return np.array([self.count, self.action], dtype=np.float64)


class Show(gymnasium.Env):
    """Shows arrays of a given shape and type, each element different from its neighbours."""

    def __init__(self, shape, dtype=np.uint8):
        self.observation_space = Box(0, 255, shape, dtype)
        self.action_space = Discrete(2)
        self.picture = (np.arange(np.prod(shape)) * 7 % 251).reshape(shape).astype(dtype)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.picture, {}

    def step(self, action):
        return self.picture + np.asarray(1, self.picture.dtype), 0.0, False, False, {}


class Broken(gymnasium.Env):
    """Raises in one place."""

    observation_space = Box(0.0, 1.0, (1,), np.float32)
    action_space = Discrete(2)

    def __init__(self, place):
        self.place = place
        self.fail("constructor")

    def fail(self, place):
        if self.place == place:
            raise ZeroDivisionError(f"oh dear, the {place}")

    def reset(self, *, seed=None, options=None):
        self.fail("reset")
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.fail("step")
        return np.zeros(1, np.float32), 0.0, False, False, {}


class Lives(Counter):
    """Loses a life every second step; only the third is the end of the game."""

    has_lives = True

    def step(self, action):
        observation, reward, *_ = super().step(action)
        self.lost += self.count % 2 == 0
        return observation, reward, self.count % 2 == 0, False, {"game_over": self.lost == 3}

    def reset(self, *, seed=None, options=None):
        if seed is not None or self.lost == 3:
            self.lost = 0
        return super().reset(seed=seed)


class Spaces(gymnasium.Env):
    """Has the given spaces."""

    def __init__(self, observation, action):
        self.observation_space, self.action_space = observation, action


def register(name, **settings):
    if name not in gymnasium.registry:
        gymnasium.register(name, disable_env_checker=True, **settings)
    return name


LIMITED = register("hogwild-test/Limited-v0", entry_point=Counter, max_episode_steps=5, reward_threshold=12.5)
BOTH = register("hogwild-test/Both-v0", entry_point=Counter, max_episode_steps=5, kwargs={"terminates": 5})
FROM_FIVE = register("hogwild-test/FromFive-v0", entry_point=Counter, kwargs={"start": 5})
BROKEN = {
    place: register(f"hogwild-test/Broken{place.title()}-v0", entry_point=Broken, kwargs={"place": place})
    for place in ("constructor", "reset", "step")
}


def batch_of(name, num_envs=1):
    return make_batch(EnvPlan(name), EnvSettings(), num_envs)


def act(batch, *actions):
    return batch.step(np.array(actions))


# Layouts


@pytest.mark.parametrize(
    ("shape", "dtype", "layout", "arranged", "kept"),
    [
        ((4,), np.float32, "vector", (4,), "float32"),
        ((4,), np.float64, "vector", (4,), "float32"),
        ((4,), np.uint8, "vector", (4,), "float32"),
        ((), np.float32, "vector", (1,), "float32"),
        ((3, 5), np.float32, "vector", (15,), "float32"),
        ((15, 40), np.uint8, "vector", (600,), "float32"),
        ((8, 8, 3), np.uint8, "vector", (192,), "float32"),
        ((2, 2, 2, 2), np.float32, "vector", (16,), "float32"),
        ((20, 30, 3), np.uint8, "picture, channels last", (3, 20, 30), "uint8"),
        ((20, 30, 1), np.float32, "picture, channels last", (1, 20, 30), "float32"),
        ((16, 16, 4), np.uint8, "picture, channels last", (4, 16, 16), "uint8"),
        ((3, 20, 30), np.uint8, "picture, channels first", (3, 20, 30), "uint8"),
        ((4, 84, 84), np.float32, "picture, channels first", (4, 84, 84), "float32"),
        ((20, 30, 40), np.uint8, "picture, channels first", (20, 30, 40), "uint8"),
        ((20, 30), np.uint8, "plain picture", (1, 20, 30), "uint8"),
        ((16, 16), np.float32, "plain picture", (1, 16, 16), "float32"),
    ],
)
def test_observations_are_arranged_by_their_shape(shape, dtype, layout, arranged, kept):
    batch = GymnasiumBatch("show", lambda: Show(shape, dtype), 2)
    assert batch.spec == PolicySpec(arranged, kept, choice(2))
    first = batch.reset([0, 1]).copy()
    step = act(batch, 0, 1)
    picture = Show(shape, dtype).picture
    for observations, expected in ((first, picture), (step.observations, picture + 1)):
        assert observations.shape == (2, *arranged)
        assert observations.dtype == kept
        for observation in observations:
            if layout == "picture, channels last":
                assert all(np.array_equal(observation[c], expected[:, :, c]) for c in range(shape[2]))
            else:
                assert np.array_equal(observation.flatten(), expected.flatten())


def test_the_layout_is_known_before_a_batch_is_made():
    assert layout_of(EnvPlan(LIMITED), EnvSettings(), 60.0).spec == PolicySpec((2,), "float32", choice(3))
    assert layout_of(EnvPlan("CartPole-v1"), EnvSettings(), 60.0).spec == PolicySpec((4,), "float32", choice(2))


# Stepping


def test_every_environment_gets_its_own_action_and_answers_in_its_own_row():
    batch = GymnasiumBatch("counter", Counter, 3)
    assert batch.reset([0, 1, 2]).tolist() == [[0, 0]] * 3
    step = act(batch, 2, 0, 1)
    assert step.observations.tolist() == [[1, 2], [1, 0], [1, 1]]
    assert step.rewards.tolist() == [1.0, 1.0, 1.0]
    assert not np.any([step.terminated, step.truncated, step.game_over])
    assert step.final_observations is None


def test_seeds_reach_the_environments():
    batch = batch_of("CartPole-v1", 3)
    first = batch.reset([1, 2, 1]).copy()
    assert np.array_equal(first[0], first[2])
    assert not np.array_equal(first[0], first[1])
    single, _ = gymnasium.make("CartPole-v1").reset(seed=2)
    assert np.array_equal(first[1], single)


def test_actions_that_do_not_start_at_zero_are_shifted():
    batch = batch_of(FROM_FIVE, 3)
    assert batch.spec.num_actions == 3
    batch.reset([0, 1, 2])
    assert act(batch, 0, 1, 2).observations[:, 1].tolist() == [5, 6, 7]


def test_the_callers_actions_are_left_as_they_are():
    batch = batch_of(FROM_FIVE, 1)
    batch.reset([0])
    actions = np.array([1])
    batch.step(actions)
    assert actions.tolist() == [1]


def test_a_batch_plays_like_the_environment_alone():
    batch, env = batch_of("CartPole-v1"), gymnasium.make("CartPole-v1")
    expected, _ = env.reset(seed=3)
    assert np.array_equal(batch.reset([3])[0], expected)
    random = np.random.default_rng(0)
    ends, seed, since = 0, 3, 0
    for _ in range(2_000):
        since += 1
        action = random.integers(2)
        expected, reward, terminated, truncated, _ = env.step(action)
        step = act(batch, action)
        assert (step.rewards[0], step.terminated[0], step.truncated[0]) == (reward, terminated, truncated)
        if terminated or truncated:
            ends += 1
            assert np.array_equal(step.final_observations[0], expected)
            if since >= SEED_STEPS:
                seed, since = next_seed(seed), 0
            expected, _ = env.reset(seed=None if since else seed)
        assert np.array_equal(step.observations[0], expected)
    assert ends > 30


# Ends


def test_a_time_limit_truncates_and_keeps_the_real_last_observation():
    batch = batch_of(LIMITED, 2)
    batch.reset([0, 1])
    for _ in range(4):
        assert not act(batch, 0, 0).truncated.any()
    step = act(batch, 1, 2)
    assert step.truncated.tolist() == [True, True]
    assert step.terminated.tolist() == [False, False]
    assert step.game_over.tolist() == [True, True]
    assert step.final_observations.tolist() == [[5, 1], [5, 2]]
    assert step.observations.tolist() == [[0, 0], [0, 0]]
    assert step.rewards.tolist() == [5.0, 5.0]


class Reuses(Counter):
    """Answers always the same array, and writes into it."""

    def reset(self, *, seed=None, options=None):
        self.array = getattr(self, "array", np.zeros(2))
        return super().reset(seed=seed, options=options)

    def show(self):
        self.array[:] = self.count, self.action
        return self.array


def test_the_last_observation_stays_what_it_was_though_the_environment_writes_into_it():
    batch = GymnasiumBatch("reuses", lambda: Reuses(truncates=3), 2)
    batch.reset([1, 2])
    for _ in range(3):
        step = batch.step(np.array([1, 2]))
    assert step.final_observations.tolist() == [[3.0, 1.0], [3.0, 2.0]]
    assert step.observations.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_terminated_wins_where_both_are_true():
    batch = batch_of(BOTH)
    batch.reset([0])
    for _ in range(4):
        act(batch, 0)
    step = act(batch, 0)
    assert (step.terminated[0], step.truncated[0], step.game_over[0]) == (True, False, True)


def test_environments_end_apart_from_each_other():
    lengths = iter([2, 3])
    batch = GymnasiumBatch("counter", lambda: Counter(truncates=next(lengths)), 2)
    batch.reset([0, 1])
    act(batch, 0, 0)
    step = act(batch, 1, 1)
    assert step.truncated.tolist() == step.game_over.tolist() == [True, False]
    assert step.observations.tolist() == [[0, 0], [2, 1]]
    assert step.final_observations[0].tolist() == [2, 1]
    step = act(batch, 1, 1)
    assert step.truncated.tolist() == step.game_over.tolist() == [False, True]
    assert step.observations.tolist() == [[1, 1], [0, 0]]
    assert step.final_observations[1].tolist() == [3, 1]


def test_one_may_terminate_while_another_is_truncated():
    ends = iter([{"terminates": 2}, {"truncates": 2}])
    batch = GymnasiumBatch("counter", lambda: Counter(**next(ends)), 2)
    batch.reset([0, 1])
    act(batch, 0, 0)
    step = act(batch, 0, 0)
    assert step.terminated.tolist() == [True, False]
    assert step.truncated.tolist() == [False, True]
    assert step.final_observations[1].tolist() == [2, 0]


@pytest.mark.parametrize("shape", [(20, 30, 3), (20, 30)])
def test_final_observations_are_arranged_like_all_others(shape):
    make = lambda: gymnasium.wrappers.TimeLimit(Show(shape), 1)  # noqa: E731
    batch = GymnasiumBatch("show", make, 2)
    batch.reset([0, 1])
    step = act(batch, 0, 0)
    assert step.final_observations.shape == step.observations.shape == (2, *batch.spec.observation_shape)
    assert np.array_equal(step.final_observations, step.observations + 1)


def test_a_lost_life_is_not_the_end_of_the_game():
    batch = GymnasiumBatch("lives", Lives, 1)
    batch.reset([0])
    steps = [act(batch, 0) for _ in range(12)]
    assert [bool(step.terminated[0]) for step in steps] == [False, True] * 6
    assert [bool(step.game_over[0]) for step in steps] == ([False] * 5 + [True]) * 2


# Failures


@pytest.mark.parametrize(("place", "where"), [("constructor", "could not be made"), ("reset", "failed in reset")])
def test_whatever_an_environment_raises_is_reported_under_its_name(place, where):
    def drive():
        batch = batch_of(BROKEN[place])
        batch.reset([0])

    with pytest.raises(EnvironmentFailed) as caught:
        drive()
    name = BROKEN[place]
    assert str(caught.value) == f"Environment '{name}' {where}: ZeroDivisionError: oh dear, the {place}"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_observation_of_another_shape_is_not_stretched_to_fit():
    class Shrinking(Counter):
        def show(self):
            return np.zeros(2 if self.count < 2 else 1)

    batch = GymnasiumBatch("shrinking", Shrinking, 2)
    batch.reset([0, 1])
    act(batch, 0, 0)
    step = act(batch, 0, 0)
    assert [fault.index for fault in step.faults] == [0, 1]
    assert "failed in step: ValueError: the observation has the shape (1,), not (2,)" in step.faults[0].what


def test_an_environment_that_raises_loses_its_episode_and_is_made_anew():
    made = []

    class Breaking(Counter):
        def __init__(self):
            super().__init__()
            made.append(self)
            self.number = len(made)

        def step(self, action):
            if self.number == 2 and self.count == 3:
                raise ZeroDivisionError("oh dear")
            return super().step(action)

    batch = GymnasiumBatch("breaking", Breaking, 2)
    batch.reset([0, 1])
    for _ in range(3):
        before = act(batch, 0, 0).observations.copy()
    step = act(batch, 0, 0)
    (fault,) = step.faults
    assert (fault.index, fault.what) == (1, "Environment 'breaking' failed in step: ZeroDivisionError: oh dear")
    assert "test_gymnasium_batch.py" in fault.details
    assert step.truncated.tolist() == [False, True]
    assert not step.terminated.any()
    assert not step.game_over.any()
    assert step.rewards[1] == 0.0
    np.testing.assert_array_equal(step.final_observations[1], before[1])  # the last that was good
    assert len(made) == 3
    assert act(batch, 0, 0).faults == ()


def test_environments_that_lose_every_episode_are_given_up():
    batch = batch_of(BROKEN["step"])
    batch.reset([0])
    for _ in range(20):
        act(batch, 0)
    with pytest.raises(EnvironmentFailed, match=r"oh dear, the step \(21 episodes in a row were lost"):
        act(batch, 0)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ((np.full(2, np.nan), 0.0), "infinite or none"),
        ((np.array([0.0, np.inf]), 0.0), "infinite or none"),
        ((np.zeros(2), np.nan), "the reward is nan"),
        ((np.zeros(2), -np.inf), "the reward is -inf"),
    ],
)
@pytest.mark.parametrize("over", [False, True])
def test_what_cannot_be_learned_from_never_leaves_a_batch(wrong, words, over):
    class Wrong(Counter):
        def step(self, action):
            observation, reward, ended, cut, info = super().step(action)
            return (*wrong, over, cut, info) if action == 1 else (observation, reward, ended, cut, info)

    batch = GymnasiumBatch("wrong", Wrong, 3)
    batch.reset([0, 1, 2])
    step = act(batch, 0, 1, 0)
    assert [fault.index for fault in step.faults] == [1]
    assert words in step.faults[0].what
    assert np.isfinite(step.observations).all()
    assert np.isfinite(step.final_observations).all()
    assert np.isfinite(step.rewards).all()
    assert step.truncated.tolist() == [False, True, False]


def test_an_environment_that_cannot_be_made_has_no_spec_either():
    with pytest.raises(EnvironmentFailed, match="could not be made: ZeroDivisionError: oh dear"):
        layout_of(EnvPlan(BROKEN["constructor"]), EnvSettings(), 60.0)


def test_a_module_that_is_missing_is_reported_under_the_environments_name():
    with pytest.raises(EnvironmentFailed, match="Environment 'no_such_module:Id-v0' could not be made"):
        batch_of("no_such_module:Id-v0")


@pytest.mark.parametrize(
    ("observation", "action", "said"),
    [
        (Box(0.0, 1.0, (3,)), Text(4), "actions Text"),
        (Box(0.0, 1.0, (3,)), Dict({"a": Text(4)}), "actions Text"),
        (Sequence(Discrete(2)), Discrete(2), "observations Sequence"),
    ],
)
def test_unsupported_spaces_are_refused_by_name(observation, action, said):
    with pytest.raises(UsageError) as caught:
        read_layout("my/Env-v0", Spaces(observation, action))
    assert "'my/Env-v0'" in str(caught.value)
    assert said in str(caught.value)
    with pytest.raises(UsageError, match="'my/Env-v0'"):
        GymnasiumBatch("my/Env-v0", lambda: Spaces(observation, action), 1)


def test_a_real_environment_with_continuous_actions_is_played():
    batch = batch_of("Pendulum-v1", 2)
    batch.reset([0, 1])
    assert batch.step(np.zeros((2, 1), np.float32)).rewards.shape == (2,)


# State


@pytest.mark.parametrize("name", ["CartPole-v1", LIMITED])
def test_a_fresh_batch_goes_on_from_a_saved_state(name):
    batch, fresh = batch_of(name, 2), batch_of(name, 2)
    batch.reset([1, 2])
    act(batch, 0, 1)
    fresh.load_state(batch.state())
    ended = False
    for count in range(60):
        actions = count % 2, (count // 2) % 2
        first, second = act(batch, *actions), act(fresh, *actions)
        assert np.array_equal(first.observations, second.observations)
        assert np.array_equal(first.rewards, second.rewards)
        assert np.array_equal(first.terminated, second.terminated)
        assert np.array_equal(first.truncated, second.truncated)
        ended |= bool(first.game_over.any())
    assert ended


def test_a_batch_that_cannot_be_saved_has_no_state():
    class World(Counter):
        def __init__(self):
            super().__init__()
            self.world = object()

    batch = GymnasiumBatch("world", World, 2)
    batch.reset([0, 1])
    assert batch.state() is None


def test_plain_environments_carry_nothing():
    batch = batch_of("CartPole-v1")
    batch.reset([0])
    assert batch.carried() == []
    batch.load_carried([{"mean": 1.0, "deviation": 1.0, "count": 1}])
    assert batch.carried() == []


def test_what_games_have_learned_goes_round_among_more_games():
    plan = EnvPlan("pong", "pong", PROTOCOLS["a3g"], "a3g")
    batch = make_batch(plan, EnvSettings(), 3)
    assert [learned["count"] for learned in batch.carried()] == [0, 0, 0]
    first, second = ({"mean": 1.0, "deviation": 2.0, "count": 3}, {"mean": 4.0, "deviation": 5.0, "count": 6})
    batch.load_carried([first, second])
    assert batch.carried() == [first, second, first]
    batch.load_carried([])
    assert batch.carried() == [first, second, first]


@pytest.mark.parametrize(("name", "score"), [("CartPole-v1", 475.0), (LIMITED, 12.5), (BOTH, None)])
def test_an_environments_own_threshold_says_when_it_is_solved(name, score):
    assert solved_at(EnvPlan(name)) == score


def test_closing_a_batch_closes_its_environments():
    closed = []

    class Closing(Counter):
        def close(self):
            closed.append(self)

    batch = GymnasiumBatch("closing", Closing, 2)
    batch.close()
    assert len(closed) == 2


@pytest.mark.parametrize(
    ("error", "extra"),
    [
        (gymnasium.error.DependencyNotInstalled("Box2D is not installed"), "box2d"),
        (ModuleNotFoundError("No module named 'mujoco'"), "mujoco"),
    ],
)
def test_a_missing_package_is_named_by_our_extra(error, extra):
    def fail():
        raise error

    with pytest.raises(UsageError, match=rf"pip install 'hogwild\[{extra}\]'"):
        guarded("Some-v0", "be made", fail)


def test_what_can_be_drawn_is_known_beforehand():
    assert can_be_drawn(EnvPlan("CartPole-v1"), EnvSettings(), 60.0)
    assert not can_be_drawn(EnvPlan(LIMITED), EnvSettings(), 60.0)
