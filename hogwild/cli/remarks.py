"""Remarks about an environment or a machine, printed as they are made."""

import dataclasses
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hogwild.checking import Remark

SIGNS = {"fine": "✔", "doubtful": "?", "wrong": "✘"}


def print_remarks(remarks: "Iterable[Remark]", as_json: bool) -> bool:
    """Print each remark with its sign and its advice, or all as a list of JSON objects; answers whether one is that
    something is wrong."""
    made = []
    for remark in remarks:
        made.append(remark)
        if not as_json:
            print(f"{SIGNS[remark.level]} {remark.what}", flush=True)
            if remark.advice:
                print(f"    {remark.advice}")
    if as_json:
        print(json.dumps([dataclasses.asdict(remark) for remark in made], ensure_ascii=False))
    return any(remark.level == "wrong" for remark in made)
