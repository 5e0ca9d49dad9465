"""Tables on the terminal, and in pipes."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

WIDE = 1000  # characters; where the output is no terminal, nobody's window ends


def show(table: "Table", width: int = WIDE) -> None:
    """Print a table; `width` is for where the output is no terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = width
    console.print(table)
