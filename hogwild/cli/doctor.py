"""`hogwild doctor RUN`"""

import dataclasses
import json
from dataclasses import dataclass

from hogwild.cli.arguments import RunName, parse


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
    from hogwild.rounds import read_patient
    from hogwild.runs.find import find_run

    patient = read_patient(find_run(given.run, given.runs))
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
