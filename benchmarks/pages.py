"""Pages of results: what benchmarks write into them stands between two comments, so that the words around it stay."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
END = "<!-- end -->"


def replace_table(page: str, author: str, text: str) -> None:
    """Write a table into `docs/results/<page>`, where the comment of its author stands, or else at its end."""
    path = ROOT / "docs" / "results" / page
    begin = f"<!-- written by {author} -->"
    if begin not in path.read_text():
        path.write_text(f"{path.read_text()}\n{begin}\n{END}\n")
    before, rest = path.read_text().split(begin)
    path.write_text(f"{before}{begin}\n{text}\n{END}{rest.split(END, 1)[1]}")
