"""`hogwild runs`"""

import json
from dataclasses import dataclass
from typing import Any

from hogwild.cli.arguments import parse
from hogwild.cli.tables import show
from hogwild.config.suggest import unknown


@dataclass(frozen=True)
class Runs:
    """List runs: environment, state, steps, minutes, returns."""

    filter: str = ""
    """Only runs whose name, environment or state contains this."""
    sort: str = "created"
    """Column to sort by; a leading '-' sorts downwards, as in --sort=-return_mean."""
    runs: str = "runs"
    """Folder that holds all runs."""
    json: bool = False
    """Print a list of JSON objects."""


def main(arguments: list[str]) -> int:
    """List runs."""
    given = parse(Runs, "runs", arguments)
    from hogwild.runs.find import list_runs, summarise

    rows = [summarise(folder) for folder in list_runs(given.runs)]
    rows = [r for r in rows if given.filter.lower() in f"{r['name']} {r['env']} {r['state']}".lower()]
    rows = sort_rows(rows, given.sort)
    if given.json:
        print(json.dumps(rows))
    elif rows:
        print_table(rows)
    else:
        print(f"No runs in '{given.runs}'" + (f" match '{given.filter}'." if given.filter else " yet."))
    return 0


def sort_rows(rows: list[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    """Rows in the order of a column; what is not known comes last.

    >>> sort_rows([{"steps": 1}, {"steps": 3}, {"steps": None}], "-steps")
    [{'steps': 3}, {'steps': 1}, {'steps': None}]
    """
    column, downwards = by.lstrip("-"), by.startswith("-")
    if rows and column not in rows[0]:
        raise unknown("column", column, rows[0])
    known = [r for r in rows if r[column] is not None]
    rest = [r for r in rows if r[column] is None]
    return sorted(known, key=lambda r: r[column], reverse=downwards) + rest


def print_table(rows: list[dict[str, Any]]) -> None:
    """The runs as a table."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("name", "env", "state"):
        table.add_column(name, no_wrap=name == "name")
    for name in ("steps", "minutes", "return mean", "best"):
        table.add_column(name, justify="right")
    colours = {"training": "green", "finished": "", "died": "red", "failed": "red"}
    for row in rows:
        state = row["state"]
        table.add_row(
            row["name"],
            row["env"],
            f"[{colours[state]}]{state}[/]" if colours.get(state) else state,
            f"{row['steps']:,}",
            f"{row['minutes']:.1f}",
            "–" if row["return_mean"] is None else f"{row['return_mean']:.2f}",
            "–" if row["return_best"] is None else f"{row['return_best']:g}",
        )
    show(table)
