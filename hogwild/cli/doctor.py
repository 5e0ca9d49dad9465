"""`hogwild doctor RUN`"""

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hogwild.cli.arguments import RunName, parse

if TYPE_CHECKING:
    from hogwild.doctor import Patient


@dataclass(frozen=True)
class Doctor:
    """Examine a run: what looks wrong, since when, and what to try."""

    run: RunName = "latest"
    """Name or path of a run, or 'latest', the one that trained last."""
    runs: str = "runs"
    """Folder that holds all runs."""
    json: bool = False
    """Print a list of JSON objects."""


def main(arguments: list[str]) -> int:
    """Examine a run."""
    given = parse(Doctor, "doctor", arguments)
    from hogwild.doctor import RULES, examine

    patient = read_patient(given.run, given.runs)
    findings = examine(patient)
    if given.json:
        print(json.dumps([dataclasses.asdict(finding) for finding in findings]))
        return 0
    for finding in findings:
        print(f"{finding.rule}: since step {finding.step:,}, {finding.what}.")
        print(f"  try {finding.advice}")
    if not findings:
        print(f"Nothing looks wrong at step {patient.steps:,} ({len(RULES)} rules).")
    return 0


def read_patient(name: str, runs: str) -> "Patient":
    """A run as the doctor looks at it."""
    from hogwild.api import Run
    from hogwild.doctor import Patient
    from hogwild.reference import find_reference
    from hogwild.resolve import resolve

    run = Run(name, runs)
    resolved = resolve(run.settings)
    games = [(int(game["worker"]), game["return"], game["length"]) for game in run.episodes()]
    return Patient(resolved, run.metrics(), games, find_reference(resolved))
