"""Pages that are generated must be what the code says, and links must lead somewhere."""

import re
from pathlib import Path
from typing import Any

import pytest

import hogwild
from hogwild.config.reference import settings_page
from hogwild.runs.metrics import METRICS, reference_page

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])


def test_the_metrics_page_is_what_the_declarations_say() -> None:
    assert (ROOT / "docs" / "metrics.md").read_text() == reference_page()


def test_the_settings_page_is_what_the_settings_say() -> None:
    assert (ROOT / "docs" / "settings.md").read_text() == settings_page()


def test_every_metric_that_is_written_is_declared(tmp_path: Path) -> None:
    written: set[str] = set()
    common: dict[str, Any] = {"engine": "inline", "workers": 2, "steps": 3000, "log_seconds": 0.1, "max_lag": 90}
    for index, changes in enumerate(
        (
            {"objective": "ppo", "hooks": "tests.failing_hooks:Dawdling"},
            {"objective": "vtrace", "exchange": "trajectories", "envs": 1, "rollout_steps": 4},
            {"exchange": "gradients", "when_full": "drop-oldest", "pull_every": 50, "envs": 1, "rollout_steps": 4},
        )
    ):
        run = hogwild.train("CartPole-v1", runs=str(tmp_path), name=str(index), **{**common, **changes})
        written |= {name for row in run.metrics() for name in row}
    only_if_wrong = {"episode/lost", "async/skipped"}
    elsewhere = {name for name in METRICS if name.startswith("machines/")}  # of which the tests of Ray have more
    assert written == set(METRICS) - only_if_wrong - elsewhere


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_flags_that_the_docs_name_exist(page: Path) -> None:
    from hogwild.cli import (
        bench,
        check,
        compare,
        dashboard,
        doctor,
        evaluate,
        export,
        inspect,
        node,
        play,
        presets,
        publish,
        replay,
        resume,
        runs,
        show,
        train,
        tune,
        watch,
    )
    from hogwild.config.settings import Settings

    known = {name.replace("_", "-") for name in Settings().flat()}
    browser = (dashboard.Dashboard, play.Play)
    commands = (
        *browser,
        *(check.Check, export.Export, publish.Publish, tune.Tune),
        compare.Compare,
        doctor.Doctor,
        inspect.Inspect,
        node.Node,
        presets.Presets,
        replay.ReplayRun,
        watch.Watch,
    )
    for command in (bench.Bench, evaluate.Evaluate, resume.Resume, runs.Runs, show.Show, train.Train, *commands):
        known |= {name.replace("_", "-") for name in command.__dataclass_fields__}
    known |= {"help", "version", "logdir"}
    for script in (ROOT / "benchmarks").glob("*.py"):
        known |= set(re.findall(r'add_argument\("--([a-z-]+)"', script.read_text()))
    for line in page.read_text().splitlines():
        if "pip " in line:
            continue
        for flag in re.findall(r"(?<![\w-])--([a-z][a-z0-9-]+)", line):
            assert flag in known, f"{page.name}: --{flag}"
