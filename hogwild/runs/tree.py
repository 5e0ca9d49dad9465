"""Nested data with arrays in it, split into plain JSON and a flat set of named arrays, and joined again."""

from typing import Any

import numpy as np


def split_tree(tree: Any, prefix: str = "") -> tuple[Any, dict[str, np.ndarray]]:
    """JSON with references where arrays were, and the arrays by reference.

    >>> plain, arrays = split_tree({"a": [np.zeros(2), 1]})
    >>> plain, list(arrays)
    ({'a': [{'__array__': '/a/0'}, 1]}, ['/a/0'])
    """
    arrays: dict[str, np.ndarray] = {}

    def walk(node: Any, path: str) -> Any:
        if isinstance(node, np.ndarray):
            arrays[path] = np.asarray(node, order="C")
            return {"__array__": path}
        if isinstance(node, np.generic):
            return walk(np.asarray(node), path) | {"scalar": True}
        if isinstance(node, dict):
            return {key: walk(value, f"{path}/{_escaped(key)}") for key, value in node.items()}
        if isinstance(node, list | tuple):
            return [walk(value, f"{path}/{index}") for index, value in enumerate(node)]
        return node

    return walk(tree, prefix), arrays


def _escaped(key: str) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def join_tree(plain: Any, arrays: dict[str, np.ndarray]) -> Any:
    """What `split_tree` took apart; tuples come back as lists.

    >>> join_tree(*split_tree({"a": [np.float32(2), 1]}))
    {'a': [np.float32(2.0), 1]}
    """
    if isinstance(plain, dict):
        if "__array__" in plain:
            array = arrays[plain["__array__"]]
            return array[()] if plain.get("scalar") else array
        return {key: join_tree(value, arrays) for key, value in plain.items()}
    if isinstance(plain, list):
        return [join_tree(value, arrays) for value in plain]
    return plain
