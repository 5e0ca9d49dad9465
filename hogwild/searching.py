"""`hogwild tune`: a study over the settings that matter, by Optuna. Trials that fall behind are ended early.

A study is a folder of ordinary runs, one for each trial, with `study.db` beside them: start it again and it goes on.
What was best is written as `best.toml`, settings that `hogwild train --config` takes.
"""

import itertools
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tomli_w

from hogwild.config.settings import Settings
from hogwild.display import Silent
from hogwild.errors import HogwildError, UsageError
from hogwild.progress import Progress
from hogwild.resolve import resolve
from hogwild.training import start_training

# Two numbers are the ends of a logarithmic range, a list has the values to choose from.
Range = tuple[float, float] | list[Any]
EVERY: dict[str, Range] = {
    "learning_rate": (1e-4, 1e-2),
    "entropy": (1e-4, 3e-2),
    "discount": [0.98, 0.99, 0.995, 0.999],
    "gae_lambda": [0.8, 0.9, 0.95, 0.98],
    "rollout_steps": [16, 32, 64, 128, 256],
    "envs": [4, 8, 16, 32],
    "max_grad_norm": [0.5, 1.0, 5.0],
}
ONLY_PPO: dict[str, Range] = {
    "epochs": [2, 3, 5, 10],
    "minibatches": [2, 4, 8, 16],
    "clip": [0.1, 0.2, 0.3],
}
CHECKS = 20  # moments of a trial at which it is compared with others
COLUMNS = 4  # of the picture
FIRST_TRIALS = 4  # that are never ended early


class Search:
    """One study."""

    def __init__(
        self, settings: Settings, folder: Path, say: Callable[[str], None], given: dict[str, Any] | None = None
    ) -> None:
        """`settings` have the budget of one trial in their stop rules; `given` are those that are not the defaults."""
        try:
            import optuna
        except ImportError:
            raise UsageError("To tune: pip install 'hogwild[tune]'.") from None
        run = settings.run
        if not run.steps and not run.minutes:
            raise UsageError("How long is a trial? Give --minutes or --steps.")
        self.optuna, self.settings, self.folder, self.say = optuna, settings.update(until_return=None), folder, say
        self.given = given or {}
        optuna.logging.set_verbosity(optuna.logging.ERROR)  # of a trial that Ctrl-C ends it would show a traceback
        folder.mkdir(parents=True, exist_ok=True)
        self.study = optuna.create_study(
            study_name="hogwild",
            storage=f"sqlite:///{folder / 'study.db'}",
            direction="maximize",
            sampler=optuna.samplers.TPESampler(seed=settings.execution.seed, multivariate=True),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=FIRST_TRIALS, n_warmup_steps=CHECKS // 4),
            load_if_exists=True,
        )
        self._require_the_same()

    def _require_the_same(self) -> None:
        """A study compares trials of one method in one environment, which differ in what is searched only."""
        now: dict[str, Any] = {"env": self.settings.env, "objective": self.settings.objective.objective}
        now |= {"steps of a trial": self.settings.run.steps, "minutes of a trial": self.settings.run.minutes}
        now |= {f"usual {name}": value for name, value in self._usual().items()}
        before = self.study.user_attrs
        for name, value in now.items():
            if before.get(name, value) != value:
                advice = "give another --folder, or remove this one"
                raise UsageError(f"The study in '{self.folder}' has {name} {before[name]}, not {value}: {advice}.")
            self.study.set_user_attr(name, value)

    @property
    def ranges(self) -> dict[str, Range]:
        """What is searched, for this objective; what is usual here is always within it."""
        return {name: with_usual((EVERY | ONLY_PPO)[name], usual) for name, usual in self._usual().items()}

    def run(self, trials: int) -> None:
        """Go on until there are so many trials, the defaults being the first of them."""
        if not self.study.trials:
            self.study.enqueue_trial(self._usual(), skip_if_exists=True)
        ended = [trial for trial in self.study.trials if trial.state.is_finished()]
        self._announce(trials, len(ended))
        began = time.monotonic()
        for left in reversed(range(trials - len(ended))):
            self.study.optimize(self._trial, n_trials=1, catch=(HogwildError,))
            each = (time.monotonic() - began) / (trials - len(ended) - left)
            self._report(f"; about {max(1, round(each * left / 60))} min left" if left else "")

    def _announce(self, trials: int, ended: int) -> None:
        """Say what is searched, and how long it takes."""
        run = self.settings.run
        length = f"{run.steps:,} steps" if run.steps else f"{run.minutes:g} min"
        done = f", {ended} of them done" if ended else ""
        most = f": {max(0, trials - ended) * run.minutes:g} min at most" if run.minutes else ""
        self.say(f"study        {self.folder}: {trials} trials of {length} each{done}{most}")
        self.say(f"searched     {', '.join(self.ranges)}; the defaults come first, and who falls behind is ended early")

    def _usual(self) -> dict[str, Any]:
        """The settings that are usual here."""
        flat = self.settings.flat()
        names = [*EVERY, *(ONLY_PPO if self.settings.objective.objective == "ppo" else ())]
        return {name: flat[name][0] if isinstance(flat[name], tuple) else flat[name] for name in names}

    def _suggest(self, trial: Any) -> dict[str, Any]:
        found = {}
        for name, values in self.ranges.items():
            if isinstance(values, list):
                found[name] = trial.suggest_categorical(name, values)
            else:
                found[name] = trial.suggest_float(name, *values, log=True)
        return found

    def _trial(self, trial: Any) -> float:
        chosen = self._suggest(trial)
        name = f"trial-{trial.number:03d}"
        settings = self.settings.update(**chosen, runs=str(self.folder), name=name)
        resolve(settings)  # what makes no sense together is refused before anything starts

        reported = set()

        def compare(progress: Progress) -> str:
            at = self._share(progress)
            if math.isnan(progress.return_mean) or at in reported:
                return ""
            reported.add(at)
            trial.report(progress.return_mean, at)
            return "behind the other trials" if trial.should_prune() else ""

        outcome = start_training(settings, Silent(), overwrite=True, enough=compare)
        if outcome.signal:
            raise KeyboardInterrupt
        if outcome.reason.startswith("behind"):
            raise self.optuna.TrialPruned
        if outcome.return_mean is None:
            raise HogwildError(f"{name}: no game ended; give trials more time.")
        return outcome.return_mean

    def _share(self, progress: Progress) -> int:
        """How far a trial has come, in parts of its budget."""
        run = self.settings.run
        done = progress.steps / run.steps if run.steps else progress.seconds / (60 * run.minutes)
        return min(CHECKS, int(CHECKS * done))

    def _report(self, left: str = "") -> None:
        """Say how the last trial did, and write what is best so far."""
        last = self.study.trials[-1]
        state = {"COMPLETE": "", "PRUNED": ", ended early", "FAIL": ", failed"}[last.state.name]
        on_the_way = last.intermediate_values
        value = on_the_way.get(max(on_the_way, default=0)) if last.value is None else last.value
        score = "no return" if value is None else f"return {value:.1f}"
        whole = [trial for trial in self.study.trials if trial.state.name == "COMPLETE"]
        best = f"; best {self.study.best_value:.1f} in trial {self.study.best_trial.number}" if whole else ""
        self.say(f"trial {last.number}: {score}{state}{best}{left}")
        if whole:
            self._write_best()
            plot(self.study, self.folder / "study.png")

    def _write_best(self) -> None:
        number, value = self.study.best_trial.number, self.study.best_value
        head = f"# The best of {len(self.study.trials)} trials: number {number}, mean return {value:.1f}.\n"
        method = {"env": self.settings.env, "objective": self.settings.objective.objective}
        content = self.given | method | self.study.best_params
        (self.folder / "best.toml").write_text(head + tomli_w.dumps(content), encoding="utf-8")


def with_usual(values: Range, usual: float) -> Range:
    """A range in which the usual value lies; where that is zero, some values instead, since its logarithm is none.

    >>> with_usual([2, 3, 5], 4), with_usual((1e-3, 1e-1), 0.5), with_usual((1e-3, 1e-1), 0.0)
    ([2, 3, 4, 5], (0.001, 0.5), [0.0, 0.001, 0.01, 0.1])
    """
    if isinstance(values, list):
        return sorted({*values, usual})
    low, high = values
    if usual > 0:
        return min(low, usual), max(high, usual)
    return [usual, low, math.sqrt(low * high), high]


def plot(study: Any, path: Path) -> None:
    """Returns of all trials in their order, and by each setting; the best one is marked."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    trials, best = [trial for trial in study.trials if trial.value is not None], study.best_trial
    names = sorted({name for trial in trials for name in trial.params})
    rows = 1 + math.ceil(len(names) / COLUMNS)
    figure = Figure(figsize=(12, 2.6 * rows), dpi=110, layout="constrained")
    grid = figure.add_gridspec(rows, COLUMNS)
    whole = figure.add_subplot(grid[0, :])
    done = [trial for trial in trials if trial.state.name == "COMPLETE"]
    record = list(itertools.accumulate((trial.value for trial in done), max))
    whole.step([trial.number for trial in done], record, where="post", color="tab:orange", label="best so far")
    whole.set(xlabel="trial", ylabel="mean return")
    whole.xaxis.set_major_locator(MaxNLocator(integer=True))
    _mark(whole, trials, best)
    whole.legend(frameon=False)
    for index, name in enumerate(names):
        panel = figure.add_subplot(grid[1 + index // COLUMNS, index % COLUMNS])
        panel.set_xlabel(name.replace("_", " "))
        if isinstance(EVERY.get(name), tuple) and all(trial.params.get(name, 1) > 0 for trial in trials):
            panel.set_xscale("log")
            panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            panel.xaxis.set_major_formatter("{x:g}")
            panel.xaxis.set_minor_formatter(NullFormatter())
        _mark(panel, [trial for trial in trials if name in trial.params], best, name)
    figure.savefig(path)


def _mark(panel: Any, trials: list[Any], best: Any, name: str = "") -> None:
    """Returns by a setting, or by the trials' numbers."""

    def place(trial: Any) -> Any:
        return trial.params[name] if name else trial.number

    panel.plot([place(trial) for trial in trials], [trial.value for trial in trials], "o", alpha=0.7)
    panel.plot(place(best), best.value, "*", color="tab:orange", markersize=14, label="best")
