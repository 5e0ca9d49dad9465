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
    assert (settings.objective.epochs, settings.objective.rollout_steps) == (3, (64,))
    assert (settings.execution.exchange, settings.environment.envs) == ("barrier", (8,))


def test_bench_measures_processes_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "pong", "--engine", "threads"]) == 2
    assert "--engine threads: bench pauses workers in turn" in capsys.readouterr().err


def test_tuning_measures_every_candidate_and_names_the_flags(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hogwild.tuning.CANDIDATES", (1, 4))
    assert run(["bench", "CartPole-v1", "--tune", "--workers", "1", "--seconds", "1"]) == 0
    printed = capsys.readouterr().out
    assert "round 2 of 2: 1: " in printed
    chosen = next(line for line in printed.splitlines() if line.endswith("←")).split()[0]
    assert f"use          --workers 1 --envs {chosen}" in printed
    assert chosen == "4"  # four games for one forward pass: three times as fast, on any computer


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
    left = [p for p in psutil.Process().children(recursive=True) if p.pid not in before]
    assert not [p for p in left if p.is_running() and "resource_tracker" not in " ".join(p.cmdline())]
