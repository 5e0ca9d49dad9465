"""The training doctor, on runs that were made to fail in each way, and on one that does not."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import hogwild
from hogwild import doctor, rounds
from hogwild.cli import main as cli
from hogwild.doctor import Patient, examine
from hogwild.reference import Reference, make_reference
from hogwild.resolve import layer, resolve
from hogwild.rounds import read_patient
from hogwild.runs.folder import RunFolder

CARTPOLE = resolve(layer("CartPole-v1"))
FAILING = {
    "entropy-collapsed": ("CartPole-v1", {"entropy": 0.0, "learning_rate": 0.3, "steps": 15_000}),
    "value-error": ("CartPole-v1", {"reward_scale": 10.0, "steps": 10_000}),
    "values-useless": ("CartPole-v1", {"value_coef": 0.0, "learning_rate": 0.02, "steps": 10_000, "seed": 1}),
    "gradients-old": ("CartPole-v1", {"exchange": "gradients", "pull_every": 60, "steps": 20_000, "envs": 1}),
    "always-clipped": ("CartPole-v1", {"max_grad_norm": 1e-5, "steps": 10_000}),
    "policy-jumps": (
        "CartPole-v1",
        {
            "objective": "ppo",
            "epochs": 20,
            "minibatches": 4,
            "clip": 10.0,
            "learning_rate": 0.005,
            "steps": 8_000,
            "seed": 1,
        },
    ),
    "same-games": ("tests.failing_envs:Bare-v0", {"steps": 10_000}),
    "nothing-ends": ("tests.failing_envs:Endless-v0", {"steps": 5_000}),
    "forgotten": ("tests.failing_envs:Turncoat-v0", {"steps": 40_000, "entropy": 0.0}),
    "hooks-slow": ("CartPole-v1", {"hooks": "tests.failing_hooks:Dawdling", "steps": 3_000}),
    "workers-wait": (
        "tests.failing_envs:Slow-v0",
        {"exchange": "barrier", "engine": "processes", "workers": 3, "minutes": 0.3, "envs": 1, "log_seconds": 0.5},
    ),
}


def patient_of(runs: Path, env: str, changes: dict[str, Any]) -> Patient:
    common: dict[str, Any] = {"engine": "inline", "workers": 2, "rollout_steps": 8, "log_seconds": 0.01}
    hogwild.train(env, runs=str(runs), name="ill", **common | changes)
    return read_patient(RunFolder(runs / "ill"))


@pytest.mark.fault(44)
@pytest.mark.parametrize("rule", FAILING)
def test_a_run_that_was_made_to_fail_is_found_out(rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "NOTHING_ENDED", 4_000)
    monkeypatch.setattr(rounds, "ROUND_SECONDS", 0.5)
    patient = patient_of(tmp_path, *FAILING[rule])
    findings = examine(patient)
    said = (tmp_path / "ill" / "log.txt").read_text()
    # While it trained, or at its end: what one illness begins, another may have ended by then.
    told = re.search(rf" {rule}: .+\. Try .+\.", said)
    assert told or any(finding.rule == rule and finding.advice for finding in findings), said
    assert all(0 <= finding.step <= patient.steps for finding in findings)


def test_a_run_that_does_well_has_nothing(tmp_path: Path) -> None:
    patient = patient_of(tmp_path, "CartPole-v1", {"rollout_steps": 32, "steps": 30_000})
    assert examine(patient) == []


def test_what_is_alike_because_it_is_perfect_or_hopeless_is_no_illness() -> None:
    rows: list[dict[str, float]] = [{"progress/steps": 1000.0, "policy/entropy": 0.3, "episode/return_mean": 500.0}]
    assert examine(Patient(CARTPOLE, rows, [(0, 500.0, 500.0)] * 60)) == [], "solved"
    rows[0]["episode/return_mean"] = -200.0
    car = resolve(layer("MountainCar-v0", steps=1000))
    assert examine(Patient(car, rows, [(0, -200.0, 200.0)] * 60)) == [], "nothing reached in time is always alike"
    assert [f.rule for f in examine(Patient(car, rows, [(0, -7.0, 7.0)] * 60))] == ["same-games"]


def reference_of(points: list[tuple[float, float]]) -> Reference:
    content = make_reference([points, points])
    return Reference(**{k: tuple(content[k]) for k in ("steps", "low", "middle", "high")}, seeds=2)


def rows_of(returns: list[float]) -> list[dict[str, float]]:
    return [{"progress/steps": 1000 * (i + 1), "episode/return_mean": value} for i, value in enumerate(returns)]


def test_who_stays_flat_where_the_reference_rose_is_behind() -> None:
    reference = reference_of([(0, -21.0), (50_000, 0.0), (100_000, 20.0)])
    flat = Patient(CARTPOLE, rows_of([-21.0] * 60), [], reference)
    assert [finding.rule for finding in examine(flat)] == ["behind-reference"]
    rising = Patient(CARTPOLE, rows_of([-21.0 + i / 2 for i in range(60)]), [], reference)
    assert examine(rising) == []
    early = Patient(CARTPOLE, rows_of([-21.0] * 4), [], reference)
    assert examine(early) == [], "nobody has learned anything by then"


def test_moods_are_no_illness() -> None:
    well = [{"progress/steps": i, "gradient/clipped": 0.2} for i in range(50)]
    ill = [{"progress/steps": 50 + i, "gradient/clipped": 1.0, "gradient/norm": 1e3} for i in range(50)]
    assert [f.step for f in examine(Patient(CARTPOLE, [*well, *ill], []))] == [pytest.approx(52, abs=3)]
    assert examine(Patient(CARTPOLE, [*ill, *well], [])) == [], "it is over"
    assert examine(Patient(CARTPOLE, [*well, *ill[:3]], [])) == [], "it has not lasted"
    assert examine(Patient(CARTPOLE, [], [])) == []


def test_while_a_run_trains_everything_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rounds, "ROUND_SECONDS", 0.2)
    patient_of(tmp_path, "CartPole-v1", {"max_grad_norm": 1e-5, "steps": 40_000})
    assert capsys.readouterr().err.count("always-clipped: ") == 1
    assert (tmp_path / "ill" / "log.txt").read_text().count("always-clipped: ") == 1


def test_the_command_speaks_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patient_of(tmp_path, *FAILING["always-clipped"])
    assert cli.run(["doctor", "ill", "--runs", str(tmp_path)]) == 0
    assert "always-clipped: since step " in capsys.readouterr().out
    assert cli.run(["doctor", "ill", "--runs", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["rule"] == "always-clipped"


def test_values_that_explain_nothing_are_no_illness_of_a_solved_run() -> None:
    rows = [
        {"progress/steps": 1000.0 * n, "value/explained_variance": -2.0, "episode/return_mean": mean}
        for n, mean in enumerate([20.0] * 20)
    ]
    ill = {finding.rule for finding in examine(Patient(CARTPOLE, rows, []))}
    solved = [row | {"episode/return_mean": 500.0} for row in rows]
    assert "values-useless" in ill
    assert "values-useless" not in {finding.rule for finding in examine(Patient(CARTPOLE, solved, []))}
