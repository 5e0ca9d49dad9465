"""The probe: what a step costs here, and how many environments that speaks for."""

from pathlib import Path

import pytest

from hogwild import probe
from hogwild.cli import main as cli
from hogwild.probe import Costs, choose, fit, measure_costs, reason
from hogwild.resolve import layer, resolve


def test_costs_are_measured_and_acting_gets_cheaper_in_larger_batches() -> None:
    costs = measure_costs(resolve(layer("CartPole-v1")).settings, [1, 64])
    assert costs.environment > 0
    assert costs.learning > 0
    assert costs.acting[64] < costs.acting[1]


def test_the_usual_number_stays_unless_another_is_twice_as_fast() -> None:
    assert choose(Costs(1.0, 1.0, {8: 1.9, 16: 0.1, 32: 0.0}), usual=8) == 8
    assert choose(Costs(0.5, 0.5, {8: 3.0, 16: 0.5, 32: 0.1}), usual=8) == 16, "the fewest of those that are"
    assert "64 environments" in reason(Costs(0.5, 0.5, {8: 3.0, 64: 0.5}), usual=8, chosen=64)
    assert "would not be faster" in reason(Costs(1.0, 1.0, {8: 0.01, 64: 0.001}), usual=8, chosen=8)


def test_where_calling_the_network_is_dear_more_environments_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_acting", lambda _policy, _envs: 1.0)  # a second, for however many
    settings, why = fit(layer("CartPole-v1"))
    assert settings.environment.envs[0] > 8
    assert "times as fast here as the usual 8" in why


def test_what_is_to_be_repeatable_does_not_hang_on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_acting", lambda _policy, _envs: 1.0)
    assert fit(layer("CartPole-v1", engine="inline")) == (layer("CartPole-v1", engine="inline"), "")
    several = layer("CartPole-v1", envs=[4, 8], workers=2)
    assert fit(several) == (several, "")


def test_an_environment_that_fails_is_left_to_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no display")

    monkeypatch.setattr(probe, "Worker", fail)
    settings = layer("CartPole-v1")
    assert fit(settings) == (settings, "")


def test_train_says_what_it_chose_and_what_was_given_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["train", "CartPole-v1", "--steps", "300", "--workers", "1", "--runs", str(tmp_path)]
    assert cli.run([*common, "--name", "open"]) == 0
    assert "machine      " in capsys.readouterr().out
    assert cli.run([*common, "--name", "given", "--envs", "8"]) == 0
    assert "machine      " not in capsys.readouterr().out
