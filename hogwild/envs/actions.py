"""How a policy's actions become those of an environment, of whatever space."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces

from hogwild.errors import UsageError
from hogwild.policies.spec import ActionPart

FAR = 1e6  # a bound beyond this is none


def action_parts(name: str, space: spaces.Space[Any]) -> Iterator[ActionPart]:
    """The independent parts of an action space; what cannot be acted on is refused."""
    if isinstance(space, spaces.Discrete):
        yield ActionPart("choice", int(space.n))
    elif isinstance(space, spaces.MultiDiscrete):
        yield from (ActionPart("choice", int(size)) for size in space.nvec.reshape(-1))
    elif isinstance(space, spaces.MultiBinary):
        yield ActionPart("switches", int(np.prod(space.shape)))
    elif isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        yield ActionPart("numbers", int(np.prod(space.shape)))
    elif isinstance(space, spaces.Dict | spaces.Tuple):
        for part in _inside(space):
            yield from action_parts(name, part)
    else:
        raise UsageError(
            f"'{name}' has actions {space}; Hogwild acts on Discrete, MultiDiscrete, MultiBinary, Box of decimals, and "
            "Dict or Tuple of these."
        )


def _inside(space: "spaces.Dict[Any] | spaces.Tuple[Any]") -> list[spaces.Space[Any]]:
    return list(space.values() if isinstance(space, spaces.Dict) else space)


@dataclass(frozen=True)
class Columns:
    """What an environment calls each number of a policy's action: clip(offset + scale × number, low, high), all [K]."""

    offset: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def apply(self, actions: np.ndarray) -> np.ndarray:
        """The numbers of actions [N, K], as the environment calls them."""
        found: np.ndarray = np.clip(self.offset + self.scale * actions, self.low, self.high)
        return found


def columns(space: spaces.Space[Any], rescale: bool) -> Columns:
    """The columns of an action space. With `rescale`, -1 and 1 mean the bounds of numbers that have them on both sides.

    >>> columns(spaces.Box(0.0, 4.0, (1,)), rescale=True).apply(np.array([[0.5], [-3.0]])).tolist()
    [[3.0], [0.0]]
    """
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = [vars(columns(part, rescale)) for part in _inside(space)]
        return Columns(**{name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    size = int(np.prod(space.shape or ()))
    offset, scale = np.zeros(size), np.ones(size)
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    if isinstance(space, spaces.Box):
        low, high = space.low.reshape(-1).astype(np.float64), space.high.reshape(-1).astype(np.float64)
        is_bounded = (np.abs(low) < FAR) & (np.abs(high) < FAR) & rescale
        first, last = np.where(is_bounded, low, -1.0), np.where(is_bounded, high, 1.0)
        offset, scale = (first + last) / 2, (last - first) / 2
    elif isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        offset = offset + np.reshape(space.start, -1)
    return Columns(offset, scale, low, high)


@dataclass(frozen=True)
class Actions:
    """Turns actions that leave a policy into those of an action space."""

    space: spaces.Space[Any]
    rescale: bool

    @cached_property
    def columns(self) -> Columns:
        """What the environment calls each number."""
        return columns(self.space, self.rescale)

    def __call__(self, actions: np.ndarray) -> Any:
        """The actions of a batch, [N] or [N, K], one for each environment."""
        if isinstance(self.space, spaces.Discrete):
            return actions + self.space.start
        return _shaped(self.space, self.columns.apply(actions), 0)[0]


def _shaped(space: spaces.Space[Any], values: np.ndarray, at: int) -> tuple[Any, int]:
    """One part of the actions of all environments, from column `at` on, and where the next part begins."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        built = []
        for part in _inside(space):
            found, at = _shaped(part, values, at)
            built.append(found)
        each = list(zip(*built, strict=True))
        if isinstance(space, spaces.Dict):
            return [dict(zip(space, one, strict=True)) for one in each], at
        return each, at
    shape = space.shape or ()
    end = at + int(np.prod(shape))
    return values[:, at:end].reshape(len(values), *shape).astype(space.dtype), end
