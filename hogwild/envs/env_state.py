"""Saving and restoring Gymnasium environments, without pickle.

An environment can be saved if it offers `save_state` and `load_state`, or if all that it and its wrappers hold is
plain: numbers, text, arrays, random generators, and collections of these. Anything else, such as the world of a
physics engine, makes it unsavable, and that is said instead of guessed.
"""

import inspect
from collections import deque
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

GENERATORS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
}
STATIC = ("spec", "cached_spec", "metadata", "env", "action_space", "observation_space", "render_mode", "reward_range")


class Unsavable(Exception):
    """An environment holds something that cannot be saved."""


class Unrepeatable(Exception):
    """An environment went another way than before."""


def save_env(env: gymnasium.Env[Any, Any]) -> list[dict[str, Any]]:
    """State of an environment and each of its wrappers, outermost first.

    >>> env = gymnasium.make("CartPole-v1")
    >>> _ = env.reset(seed=1)
    >>> saved = save_env(env)
    >>> first, _, _, _, _ = env.step(1)
    >>> load_env(env, saved)
    >>> bool((env.step(1)[0] == first).all())
    True
    """
    return [_save_layer(layer) for layer in _layers(env)]


def load_env(env: gymnasium.Env[Any, Any], saved: list[dict[str, Any]]) -> None:
    """Put an environment that was made in the same way into a saved state."""
    for layer, state in zip(_layers(env), saved, strict=True):
        if "own" in state:
            layer.load_state(state["own"])
        else:
            for name, value in state["attributes"].items():
                setattr(layer, name, _restored(value))


def _layers(env: gymnasium.Env[Any, Any]) -> Iterator[Any]:
    while True:
        yield env
        if not isinstance(env, gymnasium.Wrapper):
            return
        env = env.env


def _save_layer(layer: Any) -> dict[str, Any]:
    if not isinstance(layer, gymnasium.Wrapper) and hasattr(layer, "save_state"):
        return {"own": layer.save_state()}
    attributes = {}
    for name, value in vars(layer).items():
        if name.lstrip("_") in STATIC or isinstance(value, gymnasium.Space | type) or inspect.isroutine(value):
            continue
        try:
            attributes[name] = _saved(value)
        except Unsavable as error:
            raise Unsavable(f"{type(layer).__name__}.{name} is {error}") from None
    return {"attributes": attributes}


def _saved(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind not in "biuf":
        raise Unsavable(f"an array of {value.dtype}")
    if value is None or isinstance(value, bool | int | float | str | np.ndarray | np.generic):
        return value.copy() if isinstance(value, np.ndarray) else value
    if isinstance(value, np.random.Generator):
        if type(value.bit_generator).__name__ not in GENERATORS:
            raise Unsavable(f"a generator of type {type(value.bit_generator).__name__}")
        return {"generator": type(value.bit_generator).__name__, "state": value.bit_generator.state}
    if type(value) in (list, tuple, deque):
        kind = type(value).__name__
        limit = value.maxlen if isinstance(value, deque) else None
        return {"collection": kind, "limit": limit, "items": [_saved(v) for v in value]}
    if type(value) is dict and all(isinstance(k, str) for k in value):
        return {"collection": "dict", "items": {k: _saved(v) for k, v in value.items()}}
    raise Unsavable(f"of type {type(value).__name__}")


def _restored(value: Any) -> Any:
    if not isinstance(value, dict):
        return value.copy() if isinstance(value, np.ndarray) else value
    if "generator" in value:
        generator = np.random.Generator(GENERATORS[value["generator"]]())
        generator.bit_generator.state = value["state"]
        return generator
    items = value["items"]
    if value["collection"] == "dict":
        return {k: _restored(v) for k, v in items.items()}
    restored = [_restored(v) for v in items]
    if value["collection"] == "deque":
        return deque(restored, maxlen=value["limit"])
    return tuple(restored) if value["collection"] == "tuple" else restored
