"""What a policy has to know of its environment, and facts about encoders; without torch, so that settings load fast."""

from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from hogwild.config.settings import PolicySettings

SMALLEST_IMAGE = {"a3c": 20, "compact": 17, "nature": 36, "universe": 1, "a3g": 30}  # pixels
ENCODERS = ("auto", "a3c", "compact", "nature", "universe", "a3g", "mlp")
LAST_LAYER = {"a3c": 256, "compact": 256, "nature": 512, "universe": 0, "a3g": 0, "mlp": 64}  # units; 0: none


@dataclass(frozen=True)
class ActionPart:
    """One of the independent parts of an action: a choice among `size`, `size` switches, or `size` numbers."""

    kind: Literal["choice", "switches", "numbers"]
    size: int


@dataclass(frozen=True)
class ObservationPart:
    """One of the parts of an observation, as they lie one after the other in it."""

    name: str
    shape: tuple[int, ...]
    scale: float = 1.0  # largest value of a pixel

    @property
    def size(self) -> int:
        """Numbers in it."""
        return prod(self.shape)

    @property
    def is_image(self) -> bool:
        """Parts with three axes are pictures, channels first."""
        return len(self.shape) == 3


@dataclass(frozen=True)
class PolicySpec:
    """What a policy has to know of its environment.

    An observation is one array. Where it has several parts, or comes with a mask of the actions that are allowed now,
    all of that lies flat in it, one after the other, the mask at the end.

    >>> PolicySpec((4,), "float32", choice(2)).num_actions
    2
    """

    observation_shape: tuple[int, ...]
    observation_dtype: str
    actions: tuple[ActionPart, ...]
    packed: tuple[ObservationPart, ...] = ()  # what lies in a flat observation, if it is more than one thing
    is_masked: bool = False
    unread: tuple[str, ...] = ()  # parts of the environment's observations that are left out

    @property
    def is_image(self) -> bool:
        """Whether observations are, or have in them, pictures."""
        return any(part.is_image for part in self.parts)

    @property
    def parts(self) -> tuple[ObservationPart, ...]:
        """The parts of an observation; most have only one."""
        scale = 255.0 if self.observation_dtype == "uint8" else 1.0
        return self.packed or (ObservationPart("", self.observation_shape, scale),)

    @property
    def mask_size(self) -> int:
        """Numbers at the end of an observation that say which choices are allowed."""
        return sum(part.size for part in self.actions if part.kind == "choice") if self.is_masked else 0

    @property
    def is_choice(self) -> bool:
        """Whether an action is one choice among `num_actions`, as in most games."""
        return len(self.actions) == 1 and self.actions[0].kind == "choice"

    @property
    def num_actions(self) -> int:
        """Choices, switches and numbers of all parts together."""
        return sum(part.size for part in self.actions)

    @property
    def action_shape(self) -> tuple[int, ...]:
        """Shape of an action as it is recorded: a plain whole number for a choice, else one number for each part."""
        return () if self.is_choice else (sum(1 if p.kind == "choice" else p.size for p in self.actions),)

    @property
    def action_dtype(self) -> str:
        """Kind of its numbers."""
        return "float32" if any(part.kind == "numbers" for part in self.actions) else "int64"

    def taken(self, action: Any) -> np.ndarray:
        """An action beside what is shown of its distribution, [num_actions]: 1 for choices and switches that were
        taken, else 0, and numbers as they are.

        >>> PolicySpec((4,), "float32", (ActionPart("choice", 2), ActionPart("numbers", 1))).taken([1, 0.5]).tolist()
        [0.0, 1.0, 0.5]
        """
        given, columns = np.atleast_1d(np.asarray(action, dtype=np.float64)), []
        at = 0
        for part in self.actions:
            if part.kind == "choice":
                columns.append(np.arange(part.size) == given[at])
                at += 1
            else:
                columns.append(given[at : at + part.size])
                at += part.size
        return np.concatenate(columns).astype(np.float64)

    def action_names(self) -> tuple[str, ...]:
        """Names for what is shown of an action, where the environment has none.

        >>> PolicySpec((4,), "float32", (ActionPart("choice", 2), ActionPart("numbers", 1))).action_names()
        ('part 1: 0', 'part 1: 1', 'part 2')
        """
        if len(self.actions) == 1:
            word = {"choice": "action", "switches": "switch", "numbers": "number"}[self.actions[0].kind]
            return tuple(f"{word} {number}" for number in range(self.num_actions))
        names = []
        for index, part in enumerate(self.actions, start=1):
            single = part.size == 1 and part.kind != "choice"
            names += [f"part {index}" if single else f"part {index}: {number}" for number in range(part.size)]
        return tuple(names)

    def describe_actions(self) -> str:
        """Actions in words.

        >>> PolicySpec((4,), "float32", (ActionPart("choice", 2), ActionPart("numbers", 1))).describe_actions()
        'a choice of 2, 1 number'
        """
        parts = ", ".join(_describe(part) for part in self.actions)
        words = f"{self.num_actions} actions" if self.is_choice else parts
        return words + (", some of them forbidden at times" if self.is_masked else "")

    def are_numbers(self) -> tuple[bool, ...]:
        """Which of what is shown of an action are numbers, and not probabilities."""
        return tuple(part.kind == "numbers" for part in self.actions for _ in range(part.size))


def _describe(part: ActionPart) -> str:
    if part.kind == "choice":
        return f"a choice of {part.size}"
    one, many = {"switches": ("switch", "switches"), "numbers": ("number", "numbers")}[part.kind]
    return f"{part.size} {one if part.size == 1 else many}"


def choice(size: int) -> tuple[ActionPart, ...]:
    """Actions of an environment with `size` of them."""
    return (ActionPart("choice", size),)


def encoder_kind(spec: PolicySpec, settings: PolicySettings) -> str:
    """The encoder that the settings name, or the fitting one if they leave it open.

    >>> encoder_kind(PolicySpec((3, 16, 16), "uint8", choice(2)), PolicySettings())
    'universe'
    """
    if settings.encoder != "auto":
        return settings.encoder
    if not spec.is_image:
        return "mlp"
    side = min(side for part in spec.parts if part.is_image for side in part.shape[1:])
    return "a3c" if side >= SMALLEST_IMAGE["a3c"] else "universe"
