"""The coordinator: starts workers, watches them, writes the run folder, and stops. It does no mathematics."""

import dataclasses
import math
import os
import shutil
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from hogwild.closeup import Closeup
from hogwild.config.settings import Settings
from hogwild.diary import Diary
from hogwild.display import Display, Outcome, Steady
from hogwild.engines.engine import Engine
from hogwild.errors import HogwildError, RunFolderError
from hogwild.faults.guard import Guard
from hogwild.hooks import Caller
from hogwild.live.weights import WeightsOutbox
from hogwild.progress import Progress
from hogwild.report import Report
from hogwild.resolve import Resolved, read_file, resolve
from hogwild.rounds import Rounds
from hogwild.runs.checkpoint import Checkpoint, newest_checkpoint, remove_old, tidy, write_checkpoint
from hogwild.runs.folder import RunFolder, default_name
from hogwild.runs.meta import command_line, describe_run, revision
from hogwild.runs.resuming import as_json, changed_settings, refusing_nonsense
from hogwild.runs.trackers import Tracking, require_tracker
from hogwild.runs.writers import RunWriter
from hogwild.session import Session, require_parts
from hogwild.signals import Signals
from hogwild.validate import doubts

POLL_SECONDS = 0.1


class Training:
    """One session of training on one run folder."""

    def __init__(
        self, resolved: Resolved, folder: RunFolder, display: Display, enough: Callable[[Progress], str] | None = None
    ) -> None:
        """`enough` is asked with every row of metrics, and may answer why to stop."""
        self.resolved = resolved
        self.enough, self.had_enough = enough, ""
        self.settings = resolved.settings
        self.folder = folder
        self.display = Steady(display)
        self.diary = Diary(folder, self.display)
        self.progress = Progress(resolved.plan.frames_per_step)
        self.session = Session(
            resolved, folder.tape if self.settings.execution.record_schedule else None, folder.path.absolute()
        )
        self.live_weights = WeightsOutbox(folder.live)
        self.tracking = Tracking(folder, self.settings)
        self.closeup = Closeup(self.session, folder) if self.settings.run.detailed_logs else None
        self.rounds = Rounds(resolved)
        self.engine: Engine = self.session.engine
        self.guard = Guard(self.settings, self.session.shared)
        self.resumed_at: int | None = None
        self.best_mean, self.best_checkpoint = -math.inf, ""
        self.signals = Signals()
        self.hooks = Caller(self.settings.run.hooks) if self.settings.run.hooks else None

    def resume(self) -> list[str]:
        """Load the newest good checkpoint; answers what was wrong with newer ones."""
        path, checkpoint, skipped = newest_checkpoint(self.folder.checkpoints)
        with refusing_nonsense(f"Checkpoint '{path}'"):
            skipped += changed_settings(checkpoint.state.get("settings"), self.settings)
            self.session.load(checkpoint)
            self.progress.load(checkpoint.state["progress"])
            self.best_mean = float(checkpoint.state["best_mean"])
            self.best_checkpoint = str(checkpoint.state["best_checkpoint"])
        self.resumed_at = self.progress.steps
        self.engine = self.session.engine
        self.guard.keep()
        if self.settings.execution.engine == "inline" and not self.session.is_exact:
            skipped.append("Games start anew: this environment cannot be saved in mid-game.")
        if self.settings.execution.record_schedule:
            skipped.append("What happens after a resume is not on the tape; `hogwild replay` repeats what came before.")
        return skipped

    def run(self) -> Outcome:
        """Train until a stop rule, a signal or an error ends it; saves a checkpoint in each case."""
        writer = RunWriter(self.folder, self.resumed_at)
        writer.write_settings(self.settings.flat())
        reason, failed = "", True
        try:
            with self.signals.watched():
                self.folder.clear_live()
                self.display.begin(self.resolved, self.folder, self.progress)
                self.diary.warn(self.tracking.start())
                self.diary.warn(self.session.start())
                self.engine = self.session.engine
                reason = self._loop(writer)
                self._take(self.engine.stop(), writer)
                outcome = self._finish(writer, reason)
                failed = False
                return outcome
        except HogwildError as error:
            self._fail(writer, error if error.details else error.with_details(traceback.format_exc()))
            raise
        except KeyboardInterrupt:  # the second Ctrl-C: what was saved before has to do
            self.engine.kill()
            self._write_status("interrupted")
            raise
        except BaseException as error:
            self._fail(writer, HogwildError(repr(error)).with_details(traceback.format_exc()))
            raise
        finally:
            self.engine.kill()
            for folder in (self.folder.live, self.folder.blackbox):
                shutil.rmtree(folder, ignore_errors=True)
            self.display.close()
            with suppress(RunFolderError):
                self.folder.note(self.tracking.close(failed))  # last: somebody else's server may keep it waiting

    def _loop(self, writer: RunWriter) -> str:
        run = self.settings.run
        last_row = last_checkpoint = time.monotonic()
        while not (reason := self._reason_to_stop()):
            self._take(self.engine.poll(POLL_SECONDS), writer)
            if self.closeup is not None:
                self.closeup.stay()
            now = time.monotonic()
            row = None
            if self.progress.started is None:  # still building environments
                last_row = last_checkpoint = now
            if now - last_row >= run.log_seconds:
                last_row = now
                self.diary.tell(Report(-1, events=self.guard.look()), self.progress.steps)
                row = self._write_row(writer)
                self.had_enough = self.enough(self.progress) if self.enough is not None else ""
                self.diary.warn(*self.rounds.look(row))
                if self.closeup is not None:
                    self.diary.warn(self.closeup.look(writer, self.progress.steps))
                if self.live_weights.is_wanted():
                    self.live_weights.put(self.session.weights())
            if now - last_checkpoint >= run.checkpoint_seconds:
                self.diary.attempt(self._save)
                last_checkpoint = time.monotonic()
            self.display.update(self.progress, row, self.engine.statuses)
        return reason

    def _take(self, reports: list[Report], writer: RunWriter) -> None:
        for report in reports:
            finished = self.progress.take(report, *self.session.counts())
            self.rounds.hear(finished)
            self.diary.tell(report, self.progress.steps)
            self.diary.attempt(partial(writer.write_episodes, finished))
            if self.hooks is not None:
                self.hooks.episodes(finished, self._is_over)
        # Not all that was counted is reported: whoever waits when the run ends says no more.
        self.progress.steps, self.progress.updates = self.session.counts()

    def _reason_to_stop(self) -> str:
        run, progress = self.settings.run, self.progress
        if self.signals.first:
            return f"stopped by {signal.Signals(self.signals.first).name}"
        if run.steps and progress.steps >= run.steps:
            return f"limit of {run.steps:,} steps reached"
        if run.minutes and progress.seconds >= run.minutes * 60:
            return f"{run.minutes:g} minute{'s' * (run.minutes != 1)} over"
        if self.had_enough:
            return self.had_enough
        whole = len(progress.recent) == progress.recent.maxlen
        if run.until_return is not None and whole and progress.return_mean >= run.until_return:
            return f"solved: mean return {progress.return_mean:.2f} of the last 100 episodes ≥ {run.until_return:g}"
        return ""

    def _is_over(self) -> bool:
        return bool(self.signals.first) or 0 < self.settings.run.minutes * 60 <= self.progress.seconds

    def _write_row(self, writer: RunWriter) -> dict[str, float]:
        hooks = {} if self.hooks is None else {"time/coordinator_hooks": self.hooks.share()}
        row = self.progress.row() | self.session.losses() | hooks
        for write in (partial(writer.write_row, row), writer.flush, partial(self._write_status, "training")):
            self.diary.attempt(write)
        self.diary.warn(self.tracking.log(row))
        return row

    def _write_status(self, state: str, reason: str = "") -> None:
        progress = self.progress
        self.folder.write_status(
            {
                "state": state,
                "reason": reason,
                "pid": os.getpid(),
                "env": self.settings.env,
                "steps": progress.steps,
                "updates": progress.updates,
                "episodes": progress.episodes,
                "seconds": round(progress.seconds, 3),
                "return_mean": None if math.isnan(progress.return_mean) else progress.return_mean,
                "return_best": None if math.isinf(progress.best) else progress.best,
                "best_checkpoint": self.best_checkpoint or None,
                "workers": [dataclasses.asdict(status) for status in self.engine.statuses],
            }
        )

    def _save(self) -> Path:
        mean, recent = self.progress.return_mean, self.progress.recent
        self.progress.steps, self.progress.updates = self.session.counts()
        best = self.best_mean, self.best_checkpoint
        if len(recent) == recent.maxlen and mean > self.best_mean:  # a mean of a few games says nothing
            best = mean, f"step-{self.progress.steps:012d}"
        state = {
            "progress": self.progress.state(),
            "best_mean": best[0],
            "best_checkpoint": best[1],
            "return_mean": mean,
            "settings": as_json(self.settings),
        }
        checkpoint = self.session.checkpoint()
        whole = Checkpoint(checkpoint.weights, checkpoint.learner, checkpoint.state | state)
        path = write_checkpoint(self.folder.checkpoints, self.progress.steps, whole)
        self.best_mean, self.best_checkpoint = best
        self.guard.keep()
        self.diary.warn(*remove_old(path, self.settings.run.keep_checkpoints, self.best_checkpoint))
        if self.hooks is not None:
            self.hooks.checkpoint(path)
        return path

    def _finish(self, writer: RunWriter, reason: str) -> Outcome:
        if self.progress.started is not None:
            self._write_row(writer)
        path = self._save()
        writer.close()
        self._write_status("finished" if not self.signals.first else "interrupted", reason)
        self.folder.note(reason)
        outcome = self._outcome(reason, path)
        self.display.end(outcome)
        return outcome

    def _fail(self, writer: RunWriter, error: HogwildError) -> None:
        """Save what can be saved; the error itself is what the user gets to see."""
        self.engine.kill()
        self.progress.steps, self.progress.updates = self.session.counts()
        is_new = self.resumed_at is None or self.progress.steps > self.resumed_at  # else all of it is saved already
        attempts: list[Callable[[], object]] = [writer.close, lambda: self._write_status("failed", str(error))]
        attempts += [lambda: self.diary.log(error), *([self._save] if is_new else [])]
        for attempt in reversed(attempts):
            try:
                attempt()
            except (HogwildError, OSError):
                continue

    def _outcome(self, reason: str, checkpoint: Path | None) -> Outcome:
        progress, first = self.progress, self.signals.first
        mean, seconds = progress.return_mean if progress.recent else None, progress.seconds
        return Outcome(self.folder.path, reason, first, progress.steps, seconds, mean, checkpoint, progress.lost)


def start_training(
    settings: Settings,
    display: Display,
    overwrite: bool = False,
    enough: Callable[[Progress], str] | None = None,
) -> Outcome:
    """Train in a new run folder."""
    resolved = resolve(settings)
    require_tracker(settings.run.track)
    require_parts(settings)
    name = settings.run.name or default_name(settings)
    resolved = dataclasses.replace(resolved, settings=resolved.settings.update(name=name))
    folder = RunFolder(Path(settings.run.runs) / name)
    folder.create(overwrite)
    folder.lock()
    try:
        training = Training(resolved, folder, display, enough)
        training.diary.warn(*doubts(resolved.settings))
        folder.write_settings(resolved.settings)
        folder.write_meta(describe_run(resolved, training.session.seeds()))
        return training.run()
    finally:
        folder.unlock()


def resume_training(path: Path, display: Display, **changes: Any) -> Outcome:
    """Go on with a run from its newest good checkpoint; `changes` are settings that may differ, such as stop rules."""
    folder = RunFolder(path)
    settings = Settings().update(**read_file(folder.config) | changes | {"name": folder.name})
    resolved = resolve(settings)
    require_parts(settings)
    folder.lock()
    try:
        tidy(folder.checkpoints)
        training = Training(resolved, folder, display)
        training.diary.warn(*training.resume())
        if changes:
            folder.write_settings(resolved.settings)
        folder.note(f"resumed at step {training.progress.steps:,} by: {command_line()}; {revision()}")
        return training.run()
    finally:
        folder.unlock()
