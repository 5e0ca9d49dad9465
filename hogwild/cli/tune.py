"""`hogwild tune ENV`"""

from dataclasses import dataclass
from pathlib import Path

from hogwild.cli.arguments import Env, parse


@dataclass(frozen=True)
class Tune:
    """Search for better settings: many short trainings, of which those that fall behind are ended early."""

    env: Env
    """Environment, as for train."""
    trials: int = 20
    """Trainings in all; a study that has fewer goes on, one that was interrupted too."""
    minutes: float = 0.0
    """Minutes of one training (0: by --steps)."""
    steps: int = 0
    """Steps of one training (0: by --minutes)."""
    preset: str = ""
    """Named settings to start from."""
    config: str = ""
    """TOML file of settings to start from."""
    objective: str = ""
    """What is optimised (empty: as usual for the environment)."""
    seed: int = 0
    """Seed of the search and of every training."""
    folder: str = ""
    """Folder of the study (empty: runs/tune-ENV)."""


def main(arguments: list[str]) -> int:
    """Search."""
    given = parse(Tune, "tune", arguments)
    from hogwild.errors import UsageError
    from hogwild.resolve import layers, merge
    from hogwild.runs.folder import folder_name
    from hogwild.searching import Search

    if given.trials < 1:
        raise UsageError(f"--trials {given.trials}: must be at least 1.")
    changes = {"objective": given.objective} if given.objective else {}
    budget = {name: getattr(given, name) for name in ("minutes", "steps") if getattr(given, name)}
    sources = layers(given.env, given.preset, given.config, seed=given.seed, **changes, **budget)
    chosen = [values for source, values in sources.items() if source.startswith(("preset", "file"))]
    if not budget:
        raise UsageError("How long is one training? Give --minutes or --steps.")
    folder = Path(given.folder or f"runs/tune-{folder_name(given.env.lower())}")
    kept = {name: value for values in chosen for name, value in values.items()}
    Search(merge(sources), folder, lambda line: print(line, flush=True), kept).run(given.trials)
    if (folder / "best.toml").exists():
        print(f"best         {folder / 'best.toml'}: hogwild train --config {folder / 'best.toml'}")
        print(f"picture      {folder / 'study.png'}")
    print(f"all trials   hogwild dashboard --runs {folder}")
    return 0
