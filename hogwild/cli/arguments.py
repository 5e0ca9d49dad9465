"""Parsing: dataclasses become flags, with their field docstrings as help."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, TypeVar

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

Arguments = TypeVar("Arguments")
Env = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ENV")]
RunName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
SHORT = {"k": 1_000, "m": 1_000_000}
LARGEST = 2**63 - 1
rules = ConstructorRegistry()


@rules.primitive_rule
def int_rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[int] | None:
    """Numbers of steps are large: 1e6, 250k and 10M are understood as well as 1_000_000."""
    if info.type is not int:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: whole_number(words[0]),
        is_instance=lambda value: isinstance(value, int) and not isinstance(value, bool),
        str_from_instance=lambda value: [str(value)],
    )


def whole_number(word: str) -> int:
    """A whole number as people write it.

    >>> whole_number("1e6"), whole_number("250k"), whole_number("1.5M"), whole_number("1_000")
    (1000000, 250000, 1500000, 1000)
    """
    digits, factor = (word[:-1], SHORT[word[-1].lower()]) if word[-1:].lower() in SHORT else (word, 1)
    try:
        value = Decimal(digits) * factor
    except ArithmeticError:
        value = Decimal("nan")
    if not value.is_finite() or value != value.to_integral_value() or abs(value) > LARGEST:
        raise ValueError(f"'{word}' is not a whole number")
    return int(value)


def parse(kind: type[Arguments], command: str, arguments: list[str], default: Any = None) -> Arguments:
    """Arguments of a command; a mistake is explained and ends the program with exit code 2."""
    flat = tyro.conf.OmitArgPrefixes[kind]  # type: ignore[valid-type]
    options = {} if default is None else {"default": default}
    with rules:
        return tyro.cli(flat, prog=f"hogwild {command}", args=arguments, **options)  # type: ignore[no-any-return]


def typed(arguments: list[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the values whose flags were typed.

    >>> typed(["pong", "--lock=turns", "--rollout-steps", "8"], {"rollout_steps": (8,), "lock": "turns", "seed": 0})
    {'rollout_steps': (8,), 'lock': 'turns'}
    """
    flags = {each.split("=")[0][2:].replace("-", "_") for each in arguments if each.startswith("--")}
    return {name: value for name, value in values.items() if name in flags}
