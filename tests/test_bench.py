"""The speed measurement: real workers, real figures, nothing left behind."""

import json

import psutil
import pytest

from hogwild.cli.main import run
from hogwild.config.settings import Settings


def test_bench_has_the_settings_of_the_method_that_it_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[Settings] = []
    monkeypatch.setattr("hogwild.bench.report_lines", lambda _: [])
    monkeypatch.setattr("hogwild.bench.measure", lambda resolved, *_: measured.append(resolved.settings))
    assert run(["bench", "pong", "--objective", "ppo", "--exchange", "barrier", "--envs", "8"]) == 0
    (settings,) = measured
    assert (settings.objective.epochs, settings.objective.rollout_steps) == (2, (64,))
    assert (settings.execution.exchange, settings.environment.envs) == ("barrier", (8,))


def test_bench_measures_processes_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "pong", "--engine", "threads"]) == 2
    assert "--engine threads: bench pauses workers in turn" in capsys.readouterr().err


def test_bench_reports_speeds_ratio_sections_and_scaling(capsys) -> None:  # type: ignore[no-untyped-def]
    before = {p.pid for p in psutil.Process().children(recursive=True)}
    code = run(["bench", "CartPole-v1", "--seconds", "1", "--rounds", "1", "--workers", "2", "--scaling", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert code == 0
    assert result["ratio"] == result["training_steps_per_second"] / result["bare_steps_per_second"]
    assert 0 < result["ratio"] < 1
    assert set(result["microseconds_per_step"]) == {"environment", "acting", "learning", "exchange"}
    assert result["speedup_over_one_worker"] > 0.5
    assert result["private_megabytes_per_worker"] > 10
    left = {p.pid for p in psutil.Process().children(recursive=True)} - before
    assert not [p for p in left if "resource_tracker" not in " ".join(psutil.Process(p).cmdline())]
