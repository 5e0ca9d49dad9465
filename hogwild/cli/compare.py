"""`hogwild compare RUN…`"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro

from hogwild.cli.arguments import parse
from hogwild.cli.tables import show
from hogwild.errors import UsageError

if TYPE_CHECKING:
    from hogwild.comparison import Comparison
    from hogwild.comparison_runs import Speed


@dataclass(frozen=True)
class Compare:
    """Compare methods by their runs: curves, intervals, and a verdict. Runs that differ only in their seed are one
    method."""

    run: tyro.conf.Positional[tuple[str, ...]]
    """Names or paths of runs, 'latest', or patterns such as 'cart*'."""
    by: Literal["steps", "minutes", "updates", "episodes"] = "steps"
    """What the runs are laid along."""
    at: float | None = None
    """Compare returns at this place, in the unit of --by (None: where the shortest run ends)."""
    reach: tyro.conf.UseAppendAction[tuple[float, ...]] = ()
    """Tell when this return was reached; may be given several times (none: some round numbers)."""
    speedup: bool = False
    """Show steps per second by number of workers, too."""
    png: str = ""
    """Draw the learning curves to this PNG file."""
    html: str = ""
    """Write everything to this HTML file, which needs no other."""
    runs: str = "runs"
    """Folder that holds all runs."""
    json: bool = False
    """Print nothing but one JSON object."""


def main(arguments: list[str]) -> int:
    """Compare."""
    given = parse(Compare, "compare", arguments)
    if not given.run:
        raise UsageError("Compare which runs? hogwild runs lists them; 'cart*' takes all that begin with cart.")
    from hogwild.comparison import compare_courses
    from hogwild.comparison_report import as_json, write_html, write_png
    from hogwild.comparison_runs import find_runs, read_course, speedups

    courses = [read_course(folder) for folder in find_runs(given.run, given.runs)]
    comparison = compare_courses(courses, by=given.by, at=given.at, reach=given.reach)
    speeds = speedups(courses) if given.speedup else []
    if given.png:
        write_png(comparison, Path(given.png), speeds)
    if given.html:
        write_html(comparison, Path(given.html), speeds)
    if given.json:
        print(json.dumps(as_json(comparison, speeds)))
        return 0
    print_comparison(comparison, speeds)
    for path in filter(None, (given.png, given.html)):
        print(f"wrote {path}")
    return 0


def print_comparison(comparison: "Comparison", speeds: "Sequence[Speed]" = ()) -> None:
    """A comparison for people."""
    from hogwild.comparison_report import speed_table, table_of, verdict_lines
    from hogwild.comparison_runs import setting_words

    _print_table(*table_of(comparison))
    if speeds:
        print()
        _print_table(*speed_table(speeds))
    names = list(comparison.methods[0].settings)
    if any(", ".join(f"{n}={setting_words(m.settings[n])}" for n in names) != m.label for m in comparison.methods):
        print()
        _print_table(
            ["method", *names], [[m.label, *map(setting_words, m.settings.values())] for m in comparison.methods]
        )
    print()
    for line in verdict_lines(comparison):
        print(line)
    for note in comparison.notes:
        print(f"note: {note}")


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for index, name in enumerate(header):
        table.add_column(name, justify="left" if index == 0 else "right")
    for row in rows:
        table.add_row(*map(Text, row))  # as it is: a label may hold brackets
    show(table)
