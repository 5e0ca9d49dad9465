"""Every Gymnasium space: what a policy gets to see of it, and what an environment gets to hear."""

import re
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from hogwild.config.settings import PolicySettings
from hogwild.envs.gymnasium_batch import GymnasiumBatch
from hogwild.envs.layout import read_layout
from hogwild.envs.observations import GRID_CELL, MASK, leaves, left_out
from hogwild.errors import EnvironmentFailed, UsageError
from hogwild.policies.spec import ActionPart, encoder_kind


class Spaces(gymnasium.Env[Any, Any]):
    """Draws observations from its space, and refuses actions that are not in its space."""

    def __init__(self, observation: spaces.Space[Any], action: spaces.Space[Any], mask: Any = None) -> None:
        self.observation_space, self.action_space, self.mask = observation, action, mask
        self.seen: list[Any] = []
        self.done: list[Any] = []

    def _look(self) -> tuple[Any, dict[str, Any]]:
        self.seen.append(self.observation_space.sample())
        return self.seen[-1], {} if self.mask is None else {MASK: self.mask}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self._look()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), (action, self.action_space)
        self.done.append(action)
        observation, info = self._look()
        return observation, 0.0, len(self.done) % 3 == 0, len(self.done) % 5 == 0, info


PLAIN = spaces.Box(-1.0, 1.0, (2,), np.float32)
OBSERVATIONS: dict[str, tuple[spaces.Space[Any], int]] = {
    "vector": (PLAIN, 2),
    "no axes": (spaces.Box(-1.0, 1.0, (), np.float32), 1),
    "doubles": (spaces.Box(-1.0, 1.0, (2, 3), np.float64), 6),
    "choice": (spaces.Discrete(4, start=-1), 4),
    "choices": (spaces.MultiDiscrete([3, 2]), 5),
    "table of choices": (spaces.MultiDiscrete([[3, 2], [2, 2]]), 9),
    "switches": (spaces.MultiBinary(3), 3),
    "dict": (spaces.Dict({"b": PLAIN, "a": spaces.Discrete(3)}), 5),
    "tuple": (spaces.Tuple([PLAIN, spaces.MultiBinary(2)]), 4),
    "nested": (spaces.Dict({"x": spaces.Tuple([PLAIN, spaces.Dict({"y": spaces.Discrete(2)})])}), 4),
    "picture and vector": (spaces.Dict({"v": PLAIN, "p": spaces.Box(0, 255, (20, 24, 3), np.uint8)}), 2 + 20 * 24 * 3),
    "text beside it": (spaces.Dict({"v": PLAIN, "t": spaces.Text(5)}), 2),
}


@pytest.mark.parametrize(("space", "size"), OBSERVATIONS.values(), ids=OBSERVATIONS)
def test_observations_of_every_space_become_one_array(space: spaces.Space[Any], size: int) -> None:
    envs: list[Spaces] = []

    def make() -> Spaces:
        envs.append(Spaces(space, spaces.Discrete(2)))
        return envs[-1]

    batch = GymnasiumBatch("spaces", make, 2)
    assert int(np.prod(batch.spec.observation_shape)) == size
    found = batch.reset([1, 2])
    assert found.shape == (2, *batch.spec.observation_shape)
    assert found.dtype == batch.spec.observation_dtype
    for _ in range(7):
        step = batch.step(np.array([0, 1]))
        for row, env in zip(step.observations, envs, strict=True):
            single, is_single = batch.layout.observations.read(env.seen[-1])
            assert is_single
            np.testing.assert_array_equal(row, single[0])
        if step.truncated.any():
            assert step.final_observations is not None
            cut = int(np.flatnonzero(step.truncated)[0])
            last = batch.layout.observations.read(envs[cut].seen[-2])[0][0]  # before the first of the next episode
            np.testing.assert_array_equal(step.final_observations[cut], last)


def test_choices_are_one_hot_and_start_where_they_say() -> None:
    layout = read_layout("x", Spaces(spaces.Discrete(4, start=-1), spaces.Discrete(2)))
    assert layout.observations.read(np.int64(-1))[0].tolist() == [[1.0, 0.0, 0.0, 0.0]]
    both = read_layout("x", Spaces(spaces.MultiDiscrete([3, 2]), spaces.Discrete(2)))
    assert both.observations.read(np.array([2, 0]))[0].tolist() == [[0.0, 0.0, 1.0, 1.0, 0.0]]
    batch, is_single = both.observations.read(np.array([[2, 0], [0, 1]]))
    assert (is_single, batch.shape) == (False, (2, 5))


def test_pictures_come_first_channels_first_and_whole() -> None:
    space = spaces.Dict({"a vector": PLAIN, "picture": spaces.Box(0, 255, (20, 24, 3), np.uint8)})
    layout = read_layout("x", Spaces(space, spaces.Discrete(2)))
    seen = space.sample()
    row = layout.observations.read(seen)[0][0]
    np.testing.assert_array_equal(row[: 20 * 24 * 3].reshape(3, 20, 24), np.moveaxis(seen["picture"], -1, 0))
    np.testing.assert_array_equal(row[20 * 24 * 3 :], seen["a vector"])
    assert [(part.name, part.shape, part.scale) for part in layout.spec.packed] == [
        ("picture", (3, 20, 24), 255.0),
        ("a vector", (2,), 1.0),
    ]


@pytest.mark.parametrize(
    ("shape", "laid", "axes"),
    [
        ((84, 84, 12), (12, 84, 84), (2, 0, 1)),
        ((84, 84, 16), (16, 84, 84), (2, 0, 1)),
        ((16, 84, 84), (16, 84, 84), (0, 1, 2)),
        ((4, 84, 80, 3), (12, 84, 80), (0, 3, 1, 2)),
        ((16, 20), (1, 16, 20), (0, 1)),
        ((10, 10, 4), (400,), (0, 1, 2)),
    ],
)
def test_pictures_may_have_any_number_of_channels_anywhere(
    shape: tuple[int, ...], laid: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    space = spaces.Box(0, 255, shape, np.uint8)
    layout = read_layout("x", Spaces(space, spaces.Discrete(2)))
    assert layout.spec.observation_shape == laid
    seen = space.sample()
    np.testing.assert_array_equal(layout.observations.read(seen)[0][0], seen.transpose(axes).reshape(laid))
    kind = encoder_kind(layout.spec, PolicySettings())
    assert kind == ("mlp" if len(laid) == 1 else "a3c" if min(laid[1:]) >= 20 else "universe")


def test_a_batch_of_dicts_is_read_like_its_rows() -> None:
    space = spaces.Dict({"v": PLAIN, "c": spaces.Discrete(3)})
    layout = read_layout("x", Spaces(space, spaces.Discrete(2)))
    rows = [space.sample() for _ in range(4)]
    together = {"v": np.stack([row["v"] for row in rows]), "c": np.array([row["c"] for row in rows])}
    batch, is_single = layout.observations.read(together)
    assert not is_single
    np.testing.assert_array_equal(batch, np.concatenate([layout.observations.read(row)[0] for row in rows]))


def test_text_is_left_out_and_said_to_be() -> None:
    space = spaces.Dict({"v": PLAIN, "mission": spaces.Text(5), "deep": spaces.Dict({"t": spaces.Text(5), "v": PLAIN})})
    assert left_out(space) == ["mission", "deep.t"]
    with pytest.raises(UsageError, match="nothing that a policy could read"):
        read_layout("x", Spaces(spaces.Dict({"mission": spaces.Text(5)}), spaces.Discrete(2)))


def test_what_cannot_be_read_or_done_is_refused_by_name() -> None:
    unread = spaces.Dict({"deep": spaces.Sequence(PLAIN)})
    with pytest.raises(UsageError, match=r"'my/Env' has observations Sequence.* in 'deep'"):
        read_layout("my/Env", Spaces(unread, spaces.Discrete(2)))
    with pytest.raises(UsageError, match=r"'my/Env' has actions Text"):
        read_layout("my/Env", Spaces(PLAIN, spaces.Text(3)))
    with pytest.raises(UsageError, match=r"Box of decimals"):
        read_layout("my/Env", Spaces(PLAIN, spaces.Box(0, 5, (2,), np.int32)))


NUMBERS = spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([2.0, 1.0], np.float32))
ACTIONS: dict[str, tuple[spaces.Space[Any], list[float], Any]] = {
    "choice": (spaces.Discrete(3, start=5), [2], 7),
    "choices": (spaces.MultiDiscrete([3, 2]), [2, 1], [2, 1]),
    "switches": (spaces.MultiBinary(2), [1, 0], [1, 0]),
    "numbers": (NUMBERS, [0.5, 0.5], [1.0, 0.75]),
    "numbers beyond the bounds": (NUMBERS, [-9.0, 9.0], [-2.0, 1.0]),
    "unbounded numbers": (spaces.Box(-np.inf, np.inf, (2,), np.float64), [-9.0, 9.0], [-9.0, 9.0]),
    "bounded on one side": (spaces.Box(0.0, np.inf, (2,), np.float32), [-9.0, 9.0], [0.0, 9.0]),
    "dict": (spaces.Dict({"a": spaces.Discrete(2), "b": NUMBERS}), [1, -1.0, -1.0], {"a": 1, "b": [-2.0, 0.0]}),
    "tuple": (spaces.Tuple([NUMBERS, spaces.MultiBinary(1)]), [1.0, 1.0, 1], ([2.0, 1.0], [1])),
}


@pytest.mark.parametrize(("space", "given", "wanted"), ACTIONS.values(), ids=ACTIONS)
def test_actions_of_every_space_reach_the_environment(
    space: spaces.Space[Any], given: list[float], wanted: Any
) -> None:
    envs: list[Spaces] = []

    def make() -> Spaces:
        envs.append(Spaces(PLAIN, space))
        return envs[-1]

    batch = GymnasiumBatch("spaces", make, 2)
    batch.reset([1, 2])
    actions = np.array([given, given], dtype=batch.spec.action_dtype)
    batch.step(actions[:, 0] if batch.spec.is_choice else actions)  # the environment refuses what is not in its space
    for env in envs:
        (done,) = env.done
        parts = (
            [(done[key], wanted[key]) for key in wanted]
            if isinstance(wanted, dict)
            else zip(done, wanted, strict=True)
            if isinstance(wanted, tuple)
            else [(done, wanted)]
        )
        for found, expected in parts:
            np.testing.assert_allclose(found, expected)


def test_numbers_can_be_clipped_instead_of_rescaled() -> None:
    layout = read_layout("x", Spaces(PLAIN, NUMBERS), rescale_actions=False)
    np.testing.assert_allclose(layout.actions(np.array([[0.5, 0.5], [-3.0, -3.0]])), [[0.5, 0.5], [-2.0, 0.0]])


def test_nested_actions_have_their_parts_in_order() -> None:
    space = spaces.Dict({"b": spaces.MultiDiscrete([3, 2]), "a": spaces.Tuple([NUMBERS, spaces.Discrete(4)])})
    spec = read_layout("x", Spaces(PLAIN, space)).spec
    kinds = {"a": [ActionPart("numbers", 2), ActionPart("choice", 4)]}
    kinds["b"] = [ActionPart("choice", 3), ActionPart("choice", 2)]
    assert list(spec.actions) == [part for key in space for part in kinds[key]]
    assert (spec.action_shape, spec.action_dtype) == ((5,), "float32")


MASKED = spaces.Dict({"v": PLAIN, MASK: spaces.MultiBinary(3)})


def test_masks_in_observations_lie_at_their_end_and_are_not_read() -> None:
    layout = read_layout("x", Spaces(MASKED, spaces.Discrete(3)))
    seen = {"v": np.array([0.5, -0.5], np.float32), MASK: np.array([1, 0, 1], np.int8)}
    assert layout.observations.read(seen)[0].tolist() == [[0.5, -0.5, 1.0, 0.0, 1.0]]
    assert layout.spec.is_masked
    assert layout.spec.mask_size == 3
    assert [part.shape for part in layout.spec.parts] == [(2,)]


@pytest.mark.parametrize("mask", [np.array([1, 0, 1], np.int8), np.array([True, False, True]), [1, 0, 1]])
def test_masks_in_info_count_just_the_same(mask: Any) -> None:
    batch = GymnasiumBatch("spaces", lambda: Spaces(PLAIN, spaces.Discrete(3), mask), 2)
    found = batch.reset([1, 2])
    assert batch.spec.is_masked
    assert found[:, 2:].tolist() == [[1.0, 0.0, 1.0]] * 2
    assert batch.step(np.array([0, 2])).observations[:, 2:].tolist() == [[1.0, 0.0, 1.0]] * 2


class Masks(Spaces):
    """Tells one mask after the other."""

    def __init__(self, masks: list[Any], ends: int = 0, actions: spaces.Space[Any] | None = None) -> None:
        super().__init__(PLAIN, actions or spaces.Discrete(3))
        self.masks, self.ends, self.count = masks, ends, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.count = 0
        return super().reset(seed=seed, options=options)[0], self.told()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.count += 1
        return PLAIN.sample(), 0.0, self.count == self.ends, False, self.told()

    def told(self) -> dict[str, Any]:
        mask = self.masks[self.count]
        return {} if mask is None else {MASK: np.array(mask, np.int8)}


def test_a_mask_that_allows_nothing_costs_the_episode_unless_it_has_ended() -> None:
    ended = GymnasiumBatch("masks", lambda: Masks([[1, 0, 1], [0, 0, 0]], ends=1), 1)
    ended.reset([1])
    assert not ended.step(np.array([0])).faults
    stuck = GymnasiumBatch("masks", lambda: Masks([[1, 0, 1], [0, 0, 0]]), 1)
    stuck.reset([1])
    (fault,) = stuck.step(np.array([0])).faults
    assert "its action mask allows nothing" in fault.what
    two = spaces.MultiDiscrete([2, 2])
    half = GymnasiumBatch("masks", lambda: Masks([[1, 0, 1, 0], [1, 1, 0, 0]], actions=two), 1)
    half.reset([1])
    assert half.step(np.array([[0, 0]])).faults


def test_a_mask_that_comes_late_is_refused_and_not_overlooked() -> None:
    batch = GymnasiumBatch("masks", lambda: Masks([None, [1, 0, 1]]), 1)
    batch.reset([1])
    with pytest.raises(UsageError, match="tells an `action_mask` with a step, but not with its first reset"):
        batch.step(np.array([0]))


def test_masks_of_several_choices_may_come_as_a_tuple() -> None:
    mask = (np.array([1, 0, 1], np.int8), np.array([0, 1], np.int8))
    layout = read_layout("x", Spaces(PLAIN, spaces.MultiDiscrete([3, 2]), mask))
    assert layout.observations.read(PLAIN.sample(), mask)[0][0, 2:].tolist() == [1.0, 0.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("mask", "flat"),
    [
        ((None, np.array([0, 1], np.int8), np.array([1, 1], np.int8)), [1.0, 1.0, 1.0, 0.0, 1.0]),
        ((np.array([0, 0, 1], np.int8), None, None), [0.0, 0.0, 1.0, 1.0, 1.0]),
        (np.array([0, 1, 1, 0, 1], np.int8), [0.0, 1.0, 1.0, 0.0, 1.0]),
    ],
)
def test_masks_have_the_form_of_actions_or_are_flat_and_none_allows_everything(mask: Any, flat: list[float]) -> None:
    actions = spaces.Tuple([spaces.Discrete(3), spaces.Discrete(2), spaces.MultiBinary(2)])
    layout = read_layout("x", Spaces(PLAIN, actions, mask))
    assert layout.observations.read(PLAIN.sample(), mask)[0][0, 2:].tolist() == flat


@pytest.mark.parametrize(
    ("mask", "flat"),
    [
        ((np.array([1, 0, 1], np.int8), None), [1, 0, 1, 1, 1]),
        ((None, np.array([0, 1], np.int8)), [1, 1, 1, 0, 1]),
        ((None, None), [1, 1, 1, 1, 1]),
        ([1, 0, 1, 0, 1], [1, 0, 1, 0, 1]),
    ],
)
def test_parts_of_a_mask_of_several_choices_may_be_left_out(mask: Any, flat: list[float]) -> None:
    layout = read_layout("x", Spaces(PLAIN, spaces.MultiDiscrete([3, 2]), mask))
    assert layout.observations.read(PLAIN.sample(), mask)[0][0, 2:].tolist() == flat


@pytest.mark.parametrize(
    ("space", "mask", "words"),
    [
        (spaces.Dict({"a": spaces.Discrete(2)}), {"A": np.ones(2, np.int8)}, "speaks of ['A'], and the actions are"),
        (spaces.MultiDiscrete([3, 2]), (np.ones(3, np.int8),), "has 1 parts, and there are 2 choices"),
        (spaces.MultiDiscrete([3, 2]), (), "has 0 entries, and there are 5 choices"),
    ],
)
def test_a_mask_that_speaks_of_other_actions_is_refused(space: Any, mask: Any, words: str) -> None:
    layout = read_layout("x", Spaces(PLAIN, space, None))
    observations = replace(layout.observations, masked=(5,), mask_in_info=True, mask_space=space)
    with pytest.raises(ValueError, match=re.escape(words)):
        observations.read(PLAIN.sample(), mask)


def test_a_mask_of_the_wrong_length_is_the_environments_fault() -> None:
    with pytest.raises(EnvironmentFailed, match="the action mask has 2 entries, and there are 3 choices"):
        GymnasiumBatch("spaces", lambda: Spaces(PLAIN, spaces.Discrete(3), np.ones(2)), 1).reset([1])


@pytest.mark.parametrize(
    ("space", "shown", "words"),
    [
        (spaces.Box(0, 255, (3,), np.uint8), np.zeros(3, np.int64), "holds int64, not uint8 as its space says"),
        (spaces.MultiDiscrete([3, 2]), np.zeros(2, np.float32), "holds float32, not int64 as its space says"),
        (PLAIN, [[1.0, 2.0], [3.0]], "is no array: its rows have different lengths"),
    ],
)
def test_what_does_not_fit_into_numbers_of_the_space_is_refused_and_not_left_out(
    space: spaces.Space[Any], shown: Any, words: str
) -> None:
    class Slipping(Spaces):
        wrong_at_once = False

        def reset(self, **words: Any) -> tuple[Any, dict[str, Any]]:
            observation, info = super().reset(**words)
            return (shown if self.wrong_at_once else observation), info

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            return shown, *super().step(action)[1:]

    batch = GymnasiumBatch("slipping", lambda: Slipping(space, spaces.Box(-1.0, 1.0)), 2)
    batch.reset([1, 2])
    faults = batch.step(np.zeros((2, 1))).faults
    assert [fault.index for fault in faults] == [0, 1]
    assert f"the observation {words}" in faults[0].what
    Slipping.wrong_at_once = True
    with pytest.raises(EnvironmentFailed, match=f"its first observation {words}"):
        batch.reset([1, 2])


def test_cells_of_minigrid_are_read_as_names_and_not_as_quantities() -> None:
    box = spaces.Box(0, 255, (2, 2, 3), np.uint8)
    (leaf,) = leaves("minigrid:MiniGrid-MemoryS7-v0", box)
    cells = np.zeros((1, 2, 2, 3), np.uint8)
    cells[0, 0, 1] = (5, 1, 2)  # a key, green, open
    cells[0, 1, 0] = (6, 1, 200)  # a ball, green, in a state that there is not
    hot = leaf.arrange(cells).reshape(4, sum(GRID_CELL))
    assert hot.sum(1).tolist() == [3, 3, 3, 3]
    assert np.flatnonzero(hot[1]).tolist() == [5, 11 + 1, 17 + 2]
    assert np.flatnonzero(hot[2]).tolist() == [6, 11 + 1, 17 + 3]
    (plain,) = leaves("my_module:MyEnv-v0", box)
    assert plain.part.size == 12  # somebody else's bytes are numbers
