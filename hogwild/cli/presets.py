"""`hogwild presets`"""

import json
from dataclasses import dataclass

from hogwild.cli.arguments import parse

READABLE = 120  # characters


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
    print_list(rows)
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


def print_list(rows: list[dict[str, str]]) -> None:
    """Each preset under its name; a table would be too narrow for what there is to say."""
    from rich.console import Console, Group
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False)
    console.width = min(console.width, READABLE) if console.is_terminal else READABLE
    for row in rows:
        head = Text.assemble((row["name"], "bold"), f"   {row['env']}   {row['method']}")
        texts = (Text(row["what"]), Text(f"Reported: {row['reported']}", style="dim"))
        console.print(Group(head, Padding(Group(*texts), (0, 0, 1, 4))))
