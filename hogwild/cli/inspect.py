"""`hogwild inspect RUN`"""

from dataclasses import dataclass
from pathlib import Path

from hogwild.cli.arguments import RunName, parse
from hogwild.errors import RunFolderError, UsageError


@dataclass(frozen=True)
class Inspect:
    """Look at what entered the network and the loss in the first updates, and check that it agrees with itself.

    The run has to be trained with `hogwild train … --record-inputs N`.
    """

    run: RunName = "latest"
    """Name or path of a run, or 'latest', the one that trained last."""
    html: str = ""
    """File for the page, which needs nothing else to be looked at (empty: inputs.html in the run's folder)."""
    environments: int = 2
    """Of each rollout, show so many environments."""
    steps: int = 32
    """And so many steps of each."""
    runs: str = "runs"
    """Folder that holds all runs."""


def main(arguments: list[str]) -> int:
    """Check and write the page; exit code 1 if anything does not agree."""
    given = parse(Inspect, "inspect", arguments)
    if given.environments < 1 or given.steps < 1:
        raise UsageError("--environments and --steps: must be at least 1.")
    from hogwild.api import Run
    from hogwild.inputs import recorded_updates
    from hogwild.inspection import check_all
    from hogwild.inspection_page import Part, page
    from hogwild.resolve import resolve

    run = Run(given.run, given.runs)
    updates = recorded_updates(run.folder.inputs)
    if not updates:
        raise UsageError(f"Run '{run.path}' has kept no inputs: train with --record-inputs 4.")
    resolved = resolve(run.settings)
    stacked = resolved.plan.is_atari and resolved.spec.observation_shape[0] > 1
    checked = [(*both, check_all(*both, resolved.settings, stacked)) for both in updates]
    wrong = 0
    for update, _, checks in checked:
        for check in checks:
            wrong += not check.holds
            if not check.holds:
                print(f"{update.name}: NOT so: {check.question}: {', '.join(check.problems)}")
    asked = {check.question for _, _, checks in checked for check in checks if check.looked_at}
    print(f"{len(updates)} updates, {len(asked)} questions: {f'{wrong} answers are wrong' if wrong else 'all agree'}")
    target = Path(given.html or run.path / "inputs.html")
    part = Part(given.environments, given.steps, stacked)
    try:
        target.write_text(page(f"Inputs of {run.name}", checked, resolved.settings, part), encoding="utf-8")
    except OSError as error:
        raise RunFolderError(f"Cannot write '{target}': {error.strerror}.") from None
    print(f"page         {target}")
    return 1 if wrong else 0
