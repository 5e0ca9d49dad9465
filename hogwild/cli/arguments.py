"""Parsing: dataclasses become flags, with their field docstrings as help."""

from typing import Any, TypeVar

import tyro

Arguments = TypeVar("Arguments")


def parse(kind: type[Arguments], command: str, arguments: list[str], default: Any = None) -> Arguments:
    """Arguments of a command; a mistake is explained and ends the program with exit code 2."""
    flat = tyro.conf.OmitArgPrefixes[kind]  # type: ignore[valid-type]
    options = {} if default is None else {"default": default}
    return tyro.cli(flat, prog=f"hogwild {command}", args=arguments, **options)  # type: ignore[no-any-return]
