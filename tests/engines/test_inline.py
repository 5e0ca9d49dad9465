"""The inline engine: repeatable asynchrony, and the golden run that notices any change of behaviour."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import hogwild
from hogwild.config.settings import Settings
from hogwild.resolve import layer, resolve
from hogwild.session import Session

GOLDEN = Path(__file__).parent / "golden.json"
GOLDEN_SETTINGS: dict[str, Any] = {
    "engine": "inline",
    "workers": 2,
    "envs": 4,
    "rollout_steps": [5, 8],
    "memory": "gru",
    "memory_size": 16,
    "learning_rate": 1e-3,
    "steps": 0,
    "minutes": 60.0,
}


def weights_after(updates: int, seed: int = 0, env: str = "CartPole-v1", **changes: Any) -> np.ndarray:
    session = Session(resolve(Settings().update(env=env, **{**GOLDEN_SETTINGS, "seed": seed, **changes})))
    session.engine.start()
    while session.counts()[1] < updates:
        session.engine.poll(0.0)
    session.engine.stop()
    return session.shared.weights.numpy()


def digest(weights: np.ndarray) -> str:
    return hashlib.sha256(weights.tobytes()).hexdigest()


def machine() -> str:
    """What sums are rounded by: other makers' processors with the same instructions add up in another order."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    made = dict(re.findall(r"^(vendor_id|cpu family|model)\s*: (.*)$", text, re.MULTILINE))
    kind = torch.backends.cpu.get_cpu_capability()
    return ", ".join([f"torch {torch.__version__.split('+')[0]}", kind, *made.values()])


def projections(weights: np.ndarray) -> list[float]:
    """A few numbers that hang on all weights, to compare where another processor rounds differently."""
    random = np.random.default_rng(0)
    return [float(random.standard_normal(weights.size) @ weights.astype(np.float64)) for _ in range(8)]


def test_the_golden_run_gives_the_recorded_weights() -> None:
    """100 updates of two simulated workers. Whoever changes this number changes what everybody's runs do: say why.

    To record it anew: python tests/engines/test_inline.py
    """
    golden = json.loads(GOLDEN.read_text())
    weights = weights_after(100)
    np.testing.assert_allclose(projections(weights), golden["projections"], rtol=1e-3, atol=1e-3)
    if machine() in golden["digests"]:
        assert digest(weights) == golden["digests"][machine()]


def test_another_seed_gives_other_weights() -> None:
    assert digest(weights_after(100, seed=1)) != json.loads(GOLDEN.read_text())["digests"].get(machine())
    assert digest(weights_after(20, seed=1)) != digest(weights_after(20, seed=0))


def test_ten_updates_are_not_a_hundred() -> None:
    assert digest(weights_after(10)) != digest(weights_after(100))


@pytest.mark.parametrize("lock", ["free", "turns"])
def test_the_same_seed_gives_the_same_weights_bit_for_bit(lock: str) -> None:
    assert digest(weights_after(30, lock=lock)) == digest(weights_after(30, lock=lock))


def test_workers_really_interleave() -> None:
    """Some gradients must be applied to weights that others have changed in the meantime."""
    session = Session(resolve(layer("CartPole-v1", **{**GOLDEN_SETTINGS, "workers": 3})))
    session.engine.start()
    reports = [report for _ in range(30) for report in session.engine.poll(0.0)]
    lags = [report.sums["async/lag"] for report in reports]
    assert {0, 1, 2} <= set(lags)
    assert max(lags) <= 4


def test_in_a_round_every_worker_contributes_once() -> None:
    session = Session(resolve(layer("CartPole-v1", **{**GOLDEN_SETTINGS, "workers": 3})))
    session.engine.start()
    for number in range(1, 6):
        assert sorted(report.worker for report in session.engine.poll(0.0)) == [0, 1, 2]
        assert session.counts() == (number * 4 * (5 + 8 + 5), 3 * number)


def run_to(steps: int, folder: Path, name: str, resume_to: int = 0, **changes: Any) -> dict[str, np.ndarray]:
    settings = {**GOLDEN_SETTINGS, "runs": str(folder), "name": name, "steps": steps, **changes}
    run = hogwild.train(settings.pop("env", "CartPole-v1"), **settings)
    if resume_to:
        run.resume(steps=resume_to)
    from hogwild.runs.find import find_checkpoint

    _, checkpoint = find_checkpoint(run.folder)
    assert checkpoint.state["progress"]["steps"] >= (resume_to or steps)
    return checkpoint.weights | checkpoint.learner  # type: ignore[no-any-return]


@pytest.mark.fault(62)
@pytest.mark.parametrize(
    "changes",
    [
        {"memory": "none"},
        {"memory": "gru", "dropout": 0.2},
        {"memory": "lstm", "optimizer": "nadam", "shared_statistics": False},
        {"env": "hogwild/ProbeObservationAction-v0", "optimizer": "rmsprop-tf", "memory": "none"},
        {
            **{"env": "pong", "preprocess": "a3g", "envs": 2, "rollout_steps": 8, "encoder": "a3g", "memory": "none"},
            "sticky": 0.25,
        },
    ],
    ids=["feed-forward", "gru with dropout", "lstm with own statistics", "probe", "a3g with sticky actions"],
)
def test_a_resumed_run_is_bit_for_bit_the_run_that_was_never_stopped(changes: dict[str, Any], tmp_path: Path) -> None:
    far = 256 if "preprocess" in changes else 3000
    whole = run_to(far, tmp_path, "whole", **changes)
    resumed = run_to(far // 2, tmp_path, "resumed", resume_to=far, **changes)
    assert whole.keys() == resumed.keys()
    for name in whole:
        np.testing.assert_array_equal(whole[name], resumed[name], err_msg=name)


if __name__ == "__main__":
    recorded = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {"digests": {}}
    final = weights_after(100)
    recorded["digests"][machine()] = digest(final)
    recorded["projections"] = projections(final)
    GOLDEN.write_text(json.dumps(recorded, indent=2) + "\n")
    print(recorded)
