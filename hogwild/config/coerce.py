"""Values from TOML files and keyword arguments, brought to the type of their setting or refused by name."""

import types
import typing
from typing import Any, Literal

from hogwild.config.suggest import unknown
from hogwild.errors import UsageError


def coerce(name: str, kind: Any, value: Any) -> Any:
    """`value` as the type `kind`: whole numbers may stand for decimals, one value for a per-worker list.

    >>> coerce("entropy", tuple[float, ...], 1)
    (1.0,)
    """
    origin = typing.get_origin(kind)
    if origin is tuple:
        items = list(value) if isinstance(value, list | tuple) else [value]
        if not items:
            raise UsageError(f"'{name}' is an empty list; give at least one value.")
        return tuple(coerce(name, typing.get_args(kind)[0], item) for item in items)
    if origin is Literal:
        choices = typing.get_args(kind)
        if value not in choices:
            raise unknown(f"choice for '{name}':", str(value), choices)
        return value
    if origin in (types.UnionType, typing.Union):
        if value is None:
            return None
        kind = next(k for k in typing.get_args(kind) if k is not type(None))
    return _scalar(name, kind, value)


def _scalar(name: str, kind: type, value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float and is_number:
        return float(value)
    if kind is int and is_number and float(value).is_integer():
        return int(value)
    if kind in (str, bool) and isinstance(value, kind):
        return value
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    raise UsageError(f"'{name}' must be {words[kind]}, not {value!r}.")
