"""`hogwild check ENV`"""

import dataclasses
import json
from dataclasses import dataclass

from hogwild.cli.arguments import Env, parse

SIGNS = {"fine": "✔", "doubtful": "?", "wrong": "✘"}


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
    from hogwild.config.settings import Settings

    remarks = []
    for remark in check(Settings(env=given.env)):
        remarks.append(remark)
        if not given.json:
            print(f"{SIGNS[remark.level]} {remark.what}", flush=True)
            if remark.advice:
                print(f"    {remark.advice}")
    wrong = sum(remark.level == "wrong" for remark in remarks)
    if given.json:
        print(json.dumps([dataclasses.asdict(remark) for remark in remarks], ensure_ascii=False))
    elif wrong:
        print(f"{given.env} cannot be trained like this.")
    else:
        print(f"{given.env} can be trained: hogwild train {given.env}")
    return int(wrong > 0)
