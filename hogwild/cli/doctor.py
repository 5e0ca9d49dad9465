"""`hogwild doctor [RUN]`"""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from hogwild.cli.arguments import RunName, parse
from hogwild.cli.remarks import print_remarks


@dataclass(frozen=True)
class Doctor:
    """Examine a run: what looks wrong, since when, and what to try. Without a run, examine this machine."""

    run: RunName = ""
    """Name or path of a run, or 'latest', the one that trained last (none: check the machine, in about 20 seconds)."""
    runs: str = "runs"
    """Folder that holds all runs."""
    json: bool = False
    """Print a list of JSON objects."""


def main(arguments: list[str]) -> int:
    """Examine a run, or the machine."""
    given = parse(Doctor, "doctor", arguments)
    return examine_run(given) if given.run else examine_machine(given)


def examine_run(given: Doctor) -> int:
    """Say what looks wrong with a run."""
    from hogwild.doctor import RULES, examine
    from hogwild.rounds import read_patient
    from hogwild.runs.find import find_run, summarise

    folder = find_run(given.run, given.runs)
    patient = read_patient(folder)
    findings = examine(patient)
    if given.json:
        print(json.dumps([dataclasses.asdict(finding) for finding in findings]))
    end = summarise(folder)
    has_failed = end["state"] in ("failed", "died")
    if given.json:
        return int(has_failed)
    if has_failed:
        print(f"The run {end['state']}: {end['reason'].splitlines()[0]}")
        print(f"  {folder.log} has the details; hogwild resume {folder.path} goes on from its newest checkpoint")
        if folder.events.exists():
            print(f"  {folder.events} says what had happened to it before")
    for finding in findings:
        print(f"{finding.rule}: since step {finding.step:,}, {finding.what}.")
        print(f"  try {finding.advice}")
    if not findings and not has_failed:
        print(f"Nothing looks wrong at step {patient.steps:,} ({len(RULES)} rules).")
    return int(has_failed)


def examine_machine(given: Doctor) -> int:
    """Say whether this machine is fit for training; the exit code is 1 if it is not."""
    from hogwild.machine_check import check_machine

    return int(print_remarks(check_machine(Path(given.runs)), given.json))
