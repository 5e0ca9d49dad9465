"""Why what an environment answers is not what its spaces promise, in words."""

import math
from typing import Any

import numpy as np
from gymnasium import spaces


def misfit(space: spaces.Space[Any], value: Any, where: str = "") -> str:
    """Why a value is not in a space, in words; empty if it is.

    >>> misfit(spaces.Box(0.0, 1.0, (2,)), np.array([0.5, 2.0], np.float32))
    'it has 2.0 where 1.0 is the largest'
    """
    prefix = f"in '{where}' " if where else ""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        return _misfit_inside(space, value, where)
    if isinstance(space, spaces.Box):
        trouble = _misfit_box(space, value)
        return prefix + trouble if trouble else ""
    return "" if space.contains(value) else f"{prefix}it is {value!r}, which is not in {space}"


def _misfit_inside(space: "spaces.Dict[Any] | spaces.Tuple[Any]", value: Any, where: str) -> str:
    parts = dict(space.items()) if isinstance(space, spaces.Dict) else dict(enumerate(space))
    is_like = isinstance(value, dict) if isinstance(space, spaces.Dict) else isinstance(value, tuple)
    if not is_like or len(value) != len(parts):
        return (
            f"it is {type(value).__name__} with {len(value) if hasattr(value, '__len__') else 'no'} parts, not {space}"
        )
    for key, part in parts.items():
        try:
            inside = value[key]
        except (KeyError, IndexError):
            return f"it has no part {key!r}"
        trouble = misfit(part, inside, f"{where}.{key}".lstrip("."))
        if trouble:
            return trouble
    return ""


def _misfit_box(space: spaces.Box, value: Any) -> str:
    if not isinstance(value, np.ndarray | np.generic):
        return f"it is {type(value).__name__}, not a numpy array"
    if value.shape != space.shape:
        return f"it has the shape {value.shape}, not {space.shape}"
    if not np.can_cast(value.dtype, space.dtype, "same_kind"):
        return f"its numbers are {value.dtype}, not {space.dtype}"
    if not np.isfinite(value).all():
        return "it has numbers that are infinite or not a number (NaN)"
    numbers = np.asarray(value)
    below, above = numbers < space.low, numbers > space.high
    if below.any():
        return f"it has {numbers[below].min()} where {space.low[below].min()} is the smallest"
    if above.any():
        return f"it has {numbers[above].max()} where {space.high[above].max()} is the largest"
    return ""


def misfit_of_step(space: spaces.Space[Any], answer: Any) -> tuple[str, str] | None:
    """What is wrong with the answer of step(), and what to do; None if nothing is."""
    if not isinstance(answer, tuple) or len(answer) != 5:
        return "step() does not answer five things", "return observation, reward, terminated, truncated, info"
    observation, reward, terminated, truncated, info = answer
    trouble = misfit(space, observation)
    if trouble:
        return f"the observation does not fit its space: {trouble}", "mend the space or what step() answers"
    if isinstance(reward, bool) or not np.isscalar(reward) or not math.isfinite(float(reward)):  # type: ignore[arg-type]
        return f"the reward is {reward!r}", "it has to be one finite number"
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        if not isinstance(flag, bool | np.bool_):
            return f"{name} is {flag!r}", "it has to be True or False"
    return None if isinstance(info, dict) else (f"info is {info!r}", "it has to be a dict")
