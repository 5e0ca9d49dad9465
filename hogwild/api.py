"""The Python interface: as small as the command line, and the same settings."""

from pathlib import Path
from typing import Any

from hogwild.agent import Agent
from hogwild.config.settings import Settings
from hogwild.display import Silent
from hogwild.engines.spawning import leave_if_read_again
from hogwild.evaluation import Evaluation, evaluate
from hogwild.own import name_of
from hogwild.probe import fit
from hogwild.resolve import is_open, layers, merge, read_settings
from hogwild.runs.find import find_checkpoint, find_run
from hogwild.runs.folder import RunFolder, read_json
from hogwild.runs.writers import EPISODE_COLUMNS, read_episodes, read_rows
from hogwild.training import resume_training, start_training


class Run:
    """A finished or running training, read from its folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = train("CartPole-v1", steps=200, engine="inline", workers=1, runs=folder)
    ...     run.status["steps"] >= 200, run.metrics()[-1]["progress/steps"] >= 200
    (True, True)
    """

    def __init__(self, path: str | Path, runs: str = "runs") -> None:
        self.folder = find_run(str(path), runs)
        self.path = self.folder.path
        self.name = self.folder.name

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @property
    def settings(self) -> Settings:
        """The resolved settings."""
        return read_settings(self.folder.config)

    @property
    def status(self) -> dict[str, Any]:
        """Where the run stands: state, steps, seconds, mean and best return."""
        return read_json(self.folder.status)

    def metrics(self) -> list[dict[str, float]]:
        """All rows of metrics."""
        return [row for _, row in read_rows(self.folder.metrics)]

    def episodes(self) -> list[dict[str, float]]:
        """All finished games: step, seconds, worker, return, length."""
        rows = read_episodes(self.folder.episodes)
        return [dict(zip(EPISODE_COLUMNS, map(float, row), strict=True)) for row in rows]

    def load(self, checkpoint: str = "newest", seed: int = 0) -> Agent:
        """The trained agent of a checkpoint: 'newest', 'best', or a step."""
        return load(self, checkpoint=checkpoint, seed=seed)

    def evaluate(self, episodes: int = 100, **options: Any) -> Evaluation:
        """Play whole games with the newest checkpoint."""
        return evaluate(self.load(), episodes, **options)

    def resume(self, **changes: Any) -> "Run":
        """Train on, with changed settings such as a later `steps`."""
        leave_if_read_again()
        resume_training(self.path, Silent(), **changes)
        return self


def train(env: str, *, preset: str = "", file: str = "", overwrite: bool = False, **settings: Any) -> Run:
    """Train an agent and answer its run; every flag of the command is a keyword argument here. A part of your own
    (`encoder`, `objective`, `policy_class`, `hooks`) may be given as the class itself, if workers can import it.

    Workers are processes of their own, so a script needs the usual `if __name__ == "__main__":` around this call.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     train("CartPole-v1", steps=200, engine="inline", workers=1, runs=folder, name="tiny").name
    'tiny'
    """
    leave_if_read_again()
    sources = layers(env, preset, file, **{name: name_of(value) for name, value in settings.items()})
    chosen = fit(merge(sources))[0] if is_open(sources, "envs") else merge(sources)
    return Run(start_training(chosen, Silent(), overwrite).folder)


def load(
    run: "Run | RunFolder | str | Path", *, checkpoint: str = "newest", runs: str = "runs", seed: int = 0
) -> Agent:
    """The trained agent of a run, given as a `Run`, a path or a name.

    See `Agent.predict` for an example.
    """
    folder = run if isinstance(run, RunFolder) else run.folder if isinstance(run, Run) else find_run(str(run), runs)
    path, content = find_checkpoint(folder, checkpoint)
    return Agent(read_settings(folder.config), content, path, seed)
