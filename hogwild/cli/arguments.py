"""Parsing: dataclasses become flags, with their field docstrings as help."""

from collections.abc import Mapping
from typing import Any, TypeVar

import tyro

Arguments = TypeVar("Arguments")


def parse(kind: type[Arguments], command: str, arguments: list[str], default: Any = None) -> Arguments:
    """Arguments of a command; a mistake is explained and ends the program with exit code 2."""
    flat = tyro.conf.OmitArgPrefixes[kind]  # type: ignore[valid-type]
    options = {} if default is None else {"default": default}
    return tyro.cli(flat, prog=f"hogwild {command}", args=arguments, **options)  # type: ignore[no-any-return]


def typed(arguments: list[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the values whose flags were typed.

    >>> typed(["pong", "--lock=turns", "--rollout-steps", "8"], {"rollout_steps": (8,), "lock": "turns", "seed": 0})
    {'rollout_steps': (8,), 'lock': 'turns'}
    """
    flags = {each.split("=")[0][2:].replace("-", "_") for each in arguments if each.startswith("--")}
    return {name: value for name, value in values.items() if name in flags}
