"""`hogwild check ENV`"""

from dataclasses import dataclass

from hogwild.cli.arguments import Env, parse
from hogwild.cli.remarks import print_remarks


@dataclass(frozen=True)
class Check:
    """Check an environment: spaces, types, shapes, ranges, seeds, reset and step, NaN, speed."""

    env: Env
    """Id of a Gymnasium environment; one of your own is module:Id-v0."""
    json: bool = False
    """Print a list of JSON objects."""


def main(arguments: list[str]) -> int:
    """Check an environment; the exit code is 1 if something is wrong with it."""
    given = parse(Check, "check", arguments)
    from hogwild.checking import check
    from hogwild.resolve import layer

    is_wrong = print_remarks(check(layer(given.env)), given.json)
    if not given.json:
        words = "cannot be trained like this." if is_wrong else f"can be trained: hogwild train {given.env}"
        print(f"{given.env} {words}")
    return int(is_wrong)
