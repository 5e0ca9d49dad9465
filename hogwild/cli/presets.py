"""`hogwild presets`"""

import json
from dataclasses import dataclass

from hogwild.cli.arguments import parse
from hogwild.cli.tables import show


@dataclass(frozen=True)
class Presets:
    """List presets: what each is, and what was reported of it. `hogwild train --preset NAME` takes one."""

    filter: str = ""
    """Only presets whose name or description contains this."""
    json: bool = False
    """Print a list of JSON objects."""


def main(arguments: list[str]) -> int:
    """List presets."""
    given = parse(Presets, "presets", arguments)
    from hogwild.resolve import about_preset, preset_names

    rows = [describe(name) for name in preset_names() if about_preset(name)]
    rows = [row for row in rows if given.filter.lower() in " ".join(row.values()).lower()]
    if given.json:
        print(json.dumps(rows))
        return 0
    print_table(rows)
    return 0


def describe(name: str) -> dict[str, str]:
    """One preset in a few words."""
    from hogwild.config.settings import Settings
    from hogwild.resolve import about_preset, read_preset

    settings = Settings().update(**read_preset(name))
    execution = settings.execution
    return {
        "name": name,
        "env": settings.env or about_preset(name).get("env", "any Atari game"),
        "method": f"{settings.objective.objective} × {execution.exchange} × {execution.engine}",
        **about_preset(name),
    }


def print_table(rows: list[dict[str, str]]) -> None:
    """The presets as a table."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 1, 0), header_style="bold")
    for column in ("name", "env", "method"):
        table.add_column(column, no_wrap=column == "name")
    table.add_column("what it is, and what was reported", ratio=1)
    for row in rows:
        table.add_row(
            row["name"], row["env"], row["method"], f"{escape(row['what'])} [dim]Reported: {escape(row['reported'])}[/]"
        )
    show(table, width=160)
