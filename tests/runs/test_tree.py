"""Nested data: what is split comes together again, and nothing gets mixed up on the way."""

import json
from typing import Any

import numpy as np
import pytest

from hogwild.runs.tree import join_tree, split_tree


def through_json(tree: Any) -> Any:
    plain, arrays = split_tree(tree)
    return join_tree(json.loads(json.dumps(plain)), arrays)


def test_plain_data_needs_no_arrays() -> None:
    plain, arrays = split_tree({"a": [1, 2.5, None, True, "text"]})
    assert plain == {"a": [1, 2.5, None, True, "text"]}
    assert arrays == {}


def test_nested_data_with_arrays_comes_back() -> None:
    picture = np.arange(12, dtype=np.uint8).reshape(3, 4)
    tree = {"workers": [{"picture": picture, "lives": 3}, None], "big": 2**100, "low": -np.inf}
    joined = through_json(tree)
    assert joined["workers"][0]["lives"] == 3
    assert joined["workers"][0]["picture"].dtype == np.uint8
    np.testing.assert_array_equal(joined["workers"][0]["picture"], picture)
    assert joined["workers"][1] is None
    assert joined["big"] == 2**100
    assert joined["low"] == -np.inf


def test_tuples_come_back_as_lists() -> None:
    assert through_json({"a": (1, (2, 3))}) == {"a": [1, [2, 3]]}


def test_an_array_that_is_a_view_of_another_comes_back_with_its_own_values() -> None:
    whole = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(through_json({"a": whole.T})["a"], whole.T)


@pytest.mark.parametrize("scalar", [np.float32(2.5), np.int64(-7), np.bool_(True), np.uint8(255)])
def test_a_numpy_scalar_comes_back_as_the_same_scalar(scalar: np.generic) -> None:
    back = through_json({"a": scalar})["a"]
    assert isinstance(back, np.generic)
    assert back.dtype == scalar.dtype
    assert back == scalar


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3)])
def test_an_array_keeps_its_shape(shape: tuple[int, ...]) -> None:
    assert through_json({"a": np.ones(shape)})["a"].shape == shape


def test_names_with_slashes_are_not_mixed_up_with_nested_ones() -> None:
    joined = through_json({"a": {"b": np.array([1.0])}, "a/b": np.array([2.0])})
    assert joined["a"]["b"].tolist() == [1.0]
    assert joined["a/b"].tolist() == [2.0]
