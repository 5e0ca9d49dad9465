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

    @cached_property
    def parts(self) -> "list[Told]":
        """What the environment is told, part by part."""
        return told_parts(self.space)

    def __call__(self, actions: np.ndarray) -> Any:
        """The actions of a batch, [N] or [N, K], one for each environment."""
        if isinstance(self.space, spaces.Discrete):
            return actions + self.space.start
        values = self.columns.apply(actions)
        parts = [values[:, p.first : p.end].reshape(-1, *p.shape).astype(p.dtype) for p in self.parts]
        if isinstance(self.space, spaces.Dict | spaces.Tuple):
            return [_nested(self.space, iter(each)) for each in zip(*parts, strict=True)]
        return parts[0]


@dataclass(frozen=True)
class Told:
    """One part of what an environment is told, and which columns of a policy's action it is made of."""

    path: tuple[Any, ...]  # keys and numbers that lead to it in a Dict or Tuple
    shape: tuple[int, ...]
    dtype: str
    first: int
    end: int
    is_choice: bool = False


def told_parts(space: spaces.Space[Any], path: tuple[Any, ...] = (), at: int = 0) -> list[Told]:
    """All parts of an action, in the order of their columns.

    >>> [part.path for part in told_parts(spaces.Dict({"fire": spaces.Discrete(2), "aim": spaces.Box(-1, 1, (2,))}))]
    [('aim',), ('fire',)]
    """
    if isinstance(space, spaces.Dict | spaces.Tuple):
        found: list[Told] = []
        keys = list(space if isinstance(space, spaces.Dict) else range(len(space)))
        for key, part in zip(keys, _inside(space), strict=True):
            found += told_parts(part, (*path, key), found[-1].end if found else at)
        return found
    shape = space.shape or ()
    is_choice = isinstance(space, spaces.Discrete | spaces.MultiDiscrete)
    return [Told(path, shape, np.dtype(space.dtype).name, at, at + int(np.prod(shape)), is_choice)]


def masks_of(space: spaces.Space[Any], mask: Any, count: int = 1) -> list[Any]:
    """The masks of all choices in `count` actions, in the order of their parts; Gymnasium has them in the form of the
    space. None allows everything.

    >>> masks_of(spaces.Dict({"fire": spaces.Discrete(2), "aim": spaces.Box(-1, 1)}), {"fire": [0, 1], "aim": None})
    [[0, 1]]
    """
    if isinstance(space, spaces.Dict) and isinstance(mask, dict):
        if strangers := set(mask) - set(space):
            raise ValueError(f"the action mask speaks of {sorted(strangers)}, and the actions are {list(space)}")
        return [found for key, part in space.items() for found in masks_of(part, mask.get(key), count)]
    if isinstance(space, spaces.Tuple) and isinstance(mask, tuple | list) and len(mask) == len(space):
        return [found for part, each in zip(space, mask, strict=True) for found in masks_of(part, each, count)]
    if isinstance(space, spaces.MultiDiscrete) and isinstance(mask, tuple | list) and not _is_flat(mask):
        sizes = space.nvec.reshape(-1)
        if len(mask) != len(sizes):
            raise ValueError(f"the action mask has {len(mask)} parts, and there are {len(sizes)} choices")
        return [_everything(count, int(n)) if each is None else each for n, each in zip(sizes, mask, strict=True)]
    if isinstance(space, spaces.Box | spaces.MultiBinary):
        return []
    if mask is None:
        return [_everything(count, sum(part.size for part in action_parts("", space) if part.kind == "choice"))]
    return [mask]


def _is_flat(mask: "tuple[Any, ...] | list[Any]") -> bool:
    return all(each is not None and np.ndim(each) == 0 for each in mask)


def _everything(count: int, choices: int) -> np.ndarray:
    return np.ones((count, choices), np.uint8)


def _nested(space: spaces.Space[Any], parts: Iterator[Any]) -> Any:
    """The parts of one action in the form of its space."""
    if isinstance(space, spaces.Dict):
        return {key: _nested(part, parts) for key, part in space.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_nested(part, parts) for part in space)
    return next(parts)
