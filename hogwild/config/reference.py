"""The reference page of settings, made from their declarations."""

import ast
import dataclasses
import inspect
from typing import Any

from hogwild.config.settings import Settings, setting_groups


def settings_page() -> str:
    """All settings as a Markdown page.

    >>> "| `--entropy` | 0.01 |" in settings_page()
    True
    """
    parts = [
        "# Settings\n\n"
        "Every setting is a flag of `hogwild train`, a line in a TOML file (with `_` for `-`), and a keyword argument\n"
        "of `hogwild.train`. Defaults are the plain ones; the environment's family overlays some of them, see\n"
        "`hogwild/config/presets/`. Settings marked *per worker* take a list: worker r takes element r % length.\n"
        "This page is generated from `hogwild/config/groups.py`; a test keeps the two in step.\n"
    ]
    plain = Settings().flat()
    for group, kind in setting_groups().items():
        rows = [_row(f, plain[f.name], meaning) for f, meaning in _documented(kind)]
        parts.append(
            f"## {group.capitalize()}\n\n| flag | default | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"
        )
    return "\n".join(parts)


def _row(setting: "dataclasses.Field[Any]", default: Any, meaning: str) -> str:
    per_worker = isinstance(default, tuple)
    shown = default[0] if per_worker else "" if default is None or default == "" else default
    flag = "--" + setting.name.replace("_", "-")
    return f"| `{flag}` | {shown} | {meaning}{' *Per worker.*' if per_worker else ''} |"


def _documented(kind: type[Any]) -> "list[tuple[dataclasses.Field[Any], str]]":
    """Fields of a group with the docstrings that stand under them."""
    body = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(body, ast.ClassDef)
    meanings = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(following, ast.Expr):
            assert isinstance(statement.target, ast.Name)
            assert isinstance(following.value, ast.Constant)
            meanings[statement.target.id] = " ".join(str(following.value.value).split())
    return [(field, meanings[field.name]) for field in dataclasses.fields(kind)]
