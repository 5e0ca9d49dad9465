"""How an environment's observations, of whatever space, become the one array that a policy reads.

Pictures keep their shape, channels first; everything else becomes a vector: choices as one-hot vectors, the rest as it
is. Where an observation has several parts, or a mask of actions, they lie flat in it, one after the other.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gymnasium import spaces

from hogwild.envs.actions import masks_of
from hogwild.errors import UsageError
from hogwild.policies.spec import ObservationPart

SMALLEST_PICTURE = 16  # pixels; smaller arrays with two axes are tables, not pictures
PICTURE_AXES: dict[int, tuple[tuple[int, ...], ...]] = {
    2: ((0, 1),),
    3: ((2, 0, 1), (0, 1, 2)),
    4: ((0, 3, 1, 2), (0, 1, 2, 3)),
}
MASK = "action_mask"  # key in a Dict observation, or in `info`
GRID_FAMILIES = ("MiniGrid-", "BabyAI-")
LARGEST_GRID = 32  # cells; what is larger is a picture
GRID_CELL = (11, 6, 4)  # kinds of things, colours and states that a cell of these worlds can have
SMALL_NUMBERS = (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)  # zeros and ones for a policy


@dataclass(frozen=True)
class Leaf:
    """One part of an observation: where it is found, and how a batch of it is laid out for a policy."""

    path: tuple[Any, ...]  # keys and indices that lead to it
    shape: tuple[int, ...]  # as the environment has it
    part: ObservationPart
    is_small: bool  # fits into a byte
    arrange: Callable[[np.ndarray], np.ndarray]  # [B, *shape] to [B, *part.shape]
    choices: tuple[int, ...] = ()  # how many each of its numbers has, where they become one-hot vectors
    first: tuple[int, ...] = ()  # the number of each one's first choice
    axes: tuple[int, ...] = ()  # of a picture: in which order they are taken

    def find(self, observation: Any) -> Any:
        """This part of an observation."""
        for key in self.path:
            observation = observation[key]
        return observation


def leaves(name: str, space: spaces.Space[Any], path: tuple[Any, ...] = ()) -> Iterator[Leaf]:
    """The parts of a space that a policy can read. Text is left out; what else cannot be read is refused."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        inner = space.items() if isinstance(space, spaces.Dict) else enumerate(space)
        for key, part in inner:
            if not (key == MASK and not path) and not is_text(part):
                yield from leaves(name, part, (*path, key))
    elif isinstance(space, spaces.Box) and is_grid(name, space):
        yield _grid(space, path)
    elif isinstance(space, spaces.Box):
        yield _box(space, path)
    elif isinstance(space, spaces.Discrete):
        yield _one_hot(path, (), np.array([space.n]), np.array([space.start]))
    elif isinstance(space, spaces.MultiDiscrete):
        yield _one_hot(path, space.shape, space.nvec.reshape(-1), np.broadcast_to(space.start, space.shape).reshape(-1))
    elif isinstance(space, spaces.MultiBinary):
        yield _plain(path, space.shape, is_small=True)
    else:
        where = ".".join(map(str, path))
        raise UsageError(
            f"'{name}' has observations {space}{f' in {where!r}' if where else ''}; Hogwild reads Box, Discrete, "
            "MultiDiscrete, MultiBinary, and Dict or Tuple of these."
        )


def is_grid(name: str, space: spaces.Box) -> bool:
    """Whether a box holds cells of MiniGrid's worlds: three bytes each, which are names and not quantities. A ball and
    a key differ by one there, and a network that reads that as a number hardly sees it.

    >>> is_grid("minigrid:MiniGrid-MemoryS7-v0", spaces.Box(0, 255, (7, 7, 3), np.uint8))
    True
    """
    is_one = name.rpartition(":")[2].startswith(GRID_FAMILIES) and space.dtype == np.uint8
    shape = space.shape
    return is_one and len(shape) == 3 and shape[2] == len(GRID_CELL) and max(shape) <= LARGEST_GRID


def is_text(space: spaces.Space[Any]) -> bool:
    """Whether a part of an observation is words, of Gymnasium's own kind or of somebody else's, as MiniGrid has it."""
    return isinstance(space, spaces.Text) or (space.dtype is not None and np.dtype(space.dtype).kind == "U")


def left_out(space: spaces.Space[Any]) -> list[str]:
    """Names of the parts of an observation that a policy does not get to see, because they are text."""
    if not isinstance(space, spaces.Dict | spaces.Tuple):
        return []
    inner = list(space.items() if isinstance(space, spaces.Dict) else enumerate(space))
    texts = [str(key) for key, part in inner if is_text(part)]
    return texts + [f"{key}.{name}" for key, part in inner for name in left_out(part)]


def _box(space: spaces.Box, path: tuple[Any, ...]) -> Leaf:
    shape = space.shape
    axes = picture_axes(shape)
    if axes is None:
        return _plain(path, shape, is_small=False)
    is_byte = space.dtype == np.uint8
    channels, sides = axes[:-2], axes[-2:]
    laid = (math.prod(shape[axis] for axis in channels), *(shape[axis] for axis in sides))
    part = ObservationPart(".".join(map(str, path)), laid, 255.0 if is_byte else 1.0)
    order = (0, *(axis + 1 for axis in axes))
    return Leaf(path, shape, part, is_byte, lambda batch: batch.transpose(order).reshape(len(batch), *laid), axes=axes)


def picture_axes(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The order of axes in which an array is a picture: channels, then rows and columns; None if it is no picture.
    Colours of several pictures that were stacked are channels, too.

    >>> picture_axes((84, 84, 12)), picture_axes((3, 64, 64)), picture_axes((10, 10, 4))
    ((2, 0, 1), (0, 1, 2), None)
    >>> picture_axes((4, 84, 84, 3)), picture_axes((4, 3, 84, 84))
    ((0, 3, 1, 2), (0, 1, 2, 3))
    >>> picture_axes((4, 20, 84, 84))  # the fewer
    (0, 1, 2, 3)
    """
    found = [
        order
        for order in PICTURE_AXES.get(len(shape), ())
        if min(shape[axis] for axis in order[-2:]) >= SMALLEST_PICTURE
    ]
    # If both ends could be the channels, those are that are fewer.
    return min(found, key=lambda order: math.prod(shape[axis] for axis in order[:-2]), default=None)


def _plain(path: tuple[Any, ...], shape: tuple[int, ...], is_small: bool) -> Leaf:
    part = ObservationPart(".".join(map(str, path)), (int(np.prod(shape)),))
    return Leaf(path, shape, part, is_small, lambda batch: batch.reshape(len(batch), -1))


def _one_hot(path: tuple[Any, ...], shape: tuple[int, ...], sizes: np.ndarray, starts: np.ndarray) -> Leaf:
    begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    total = int(sizes.sum())

    def arrange(batch: np.ndarray) -> np.ndarray:
        hot = np.zeros((len(batch), total), dtype=np.uint8)
        np.put_along_axis(hot, batch.reshape(len(batch), -1).astype(np.int64) - starts + begins, 1, axis=1)
        return hot

    part = ObservationPart(".".join(map(str, path)), (total,))
    return Leaf(path, shape, part, True, arrange, tuple(sizes.tolist()), tuple(starts.tolist()))


def _grid(space: spaces.Box, path: tuple[Any, ...]) -> Leaf:
    sizes = np.tile(GRID_CELL, space.shape[0] * space.shape[1])
    hot, most = _one_hot(path, space.shape, sizes, np.zeros_like(sizes)), np.array(GRID_CELL, np.uint8) - 1
    return replace(hot, arrange=lambda batch: hot.arrange(np.minimum(batch, most)))


@dataclass(frozen=True)
class Observations:
    """All that is needed to turn an environment's observations into a policy's."""

    leaves: tuple[Leaf, ...]
    space_dtype: Any  # of plain arrays
    masked: tuple[int, ...] = ()  # of how many choices each part of a mask speaks; empty: there is none
    mask_in_info: bool = False
    mask_space: spaces.Space[Any] | None = None  # the actions that it speaks of

    @property
    def mask_size(self) -> int:
        """Choices that a mask speaks of."""
        return sum(self.masked)

    def allows_any(self, collected: np.ndarray) -> bool:
        """Whether the mask of a collected observation allows something of everything that is to be chosen."""
        mask = collected[-self.mask_size :]
        ends = np.cumsum(self.masked)
        return all(mask[end - size : end].any() for size, end in zip(self.masked, ends, strict=True))

    @property
    def is_array(self) -> bool:
        """Whether observations are plain arrays and need no packing one by one."""
        return len(self.leaves) == 1 and not self.leaves[0].path and not self.mask_size

    @property
    def is_packed(self) -> bool:
        """Whether a policy's observation holds more than one thing."""
        return len(self.leaves) > 1 or self.mask_size > 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the observations that are collected from environments."""
        return self.leaves[0].shape if self.is_array else (sum(x.part.size for x in self.leaves) + self.mask_size,)

    @property
    def policy_shape(self) -> tuple[int, ...]:
        """Shape of a policy's observations."""
        return self.shape if self.is_packed else self.leaves[0].part.shape

    @property
    def dtype(self) -> str:
        """Kind of a policy's numbers: bytes if they all fit and there are pictures among them."""
        as_bytes = all(leaf.is_small for leaf in self.leaves) and any(leaf.part.is_image for leaf in self.leaves)
        return "uint8" if as_bytes else "float32"

    def empty(self, count: int) -> np.ndarray:
        """Room for a batch of collected observations."""
        return np.zeros((count, *self.shape), self.space_dtype if self.is_array else self.dtype)

    def collect(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """One observation as it is collected."""
        return observation if self.is_array else self.pack(observation, info.get(MASK))[0]

    def arrange(self, collected: np.ndarray) -> np.ndarray:
        """A batch of collected observations as the policy wants them."""
        laid = self.leaves[0].arrange(collected) if self.is_array else collected
        return np.ascontiguousarray(laid, dtype=self.dtype).reshape(len(collected), *self.policy_shape)

    def read(self, observation: Any, mask: Any = None) -> tuple[np.ndarray, bool]:
        """One observation or a batch of them, as the environment gives them or as the policy wants them, in the latter
        form; and whether it was a single one."""
        wanted = [leaf.shape for leaf in self.leaves]
        given = [np.shape(observation)]
        if not self.leaves[0].path or not isinstance(observation, np.ndarray):
            given = [np.shape(leaf.find(observation)) for leaf in self.leaves]
            for is_single, shapes in ((True, given), (False, [shape[1:] for shape in given])):
                if shapes == wanted:
                    batch = self.pack(observation, mask, batched=not is_single)
                    return batch.reshape(len(batch), *self.policy_shape), is_single
        for is_single, shape in ((True, given[0]), (False, given[0][1:])):
            if shape == self.policy_shape:
                batch = np.ascontiguousarray(observation, dtype=self.dtype)
                return batch.reshape(-1, *self.policy_shape), is_single
        sees, not_this = (" and ".join(map(str, shapes)) for shapes in (wanted, given))
        raise UsageError(f"The agent sees observations of shape {sees}, one or a batch, not {not_this}.")

    def pack(self, observation: Any, mask: Any = None, batched: bool = False) -> np.ndarray:
        """One observation, or a batch of them, laid out flat with its mask, [B, …]."""
        rows = []
        for leaf in self.leaves:
            batch = np.asarray(leaf.find(observation))
            rows.append(leaf.arrange(batch if batched else batch[None]))
        count = len(rows[0])
        flat = [row.reshape(count, -1) for row in rows]
        if self.mask_size:
            found = mask if self.mask_in_info else observation[MASK]
            flat.append(self._flat_mask(found, count))
        return np.concatenate(flat, axis=1, dtype=self.dtype, casting="unsafe")

    def _flat_mask(self, mask: Any, count: int) -> np.ndarray:
        """A mask as bytes [B, K]; without one, everything is allowed."""
        if mask is None:
            return np.ones((count, self.mask_size), dtype=np.uint8)
        parts = masks_of(self.mask_space, mask, count) if self.mask_space is not None else [mask]
        flat = np.concatenate([np.asarray(part).reshape(count, -1) for part in parts], axis=1)
        if flat.shape[1] != self.mask_size:
            words = f"the action mask has {flat.shape[1]} entries, and there are {self.mask_size} choices"
            raise ValueError(words)
        return (flat > 0).astype(np.uint8)
