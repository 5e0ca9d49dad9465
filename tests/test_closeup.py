"""What `--detailed-logs` writes for TensorBoard is what there was."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import hogwild
from hogwild import closeup
from hogwild.closeup import rollout_of
from hogwild.config.settings import PolicySettings
from hogwild.errors import NotFinite
from hogwild.live import mailbox
from hogwild.live.mailbox import moment_dtype
from hogwild.policies.policy import Policy
from hogwild.policies.spec import PolicySpec, choice

SMALL: dict[str, Any] = {"engine": "inline", "workers": 1, "envs": 2, "log_seconds": 0.01, "rollout_steps": 8}


def events_of(run: hogwild.Run) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    sizes = {"histograms": 0, "images": 0, "tensors": 0, "scalars": 0}
    found = EventAccumulator(str(run.path), size_guidance=sizes)
    found.Reload()
    return found


@pytest.mark.parametrize(("env", "steps", "more"), [("CartPole-v1", 2000, {}), ("pong", 600, {"normalise_steps": 64})])
def test_inputs_weights_gradients_activations_and_statistics(
    env: str, steps: int, more: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closeup, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(mailbox, "LOOK_SECONDS", 0.0)  # fast machines are done within a second
    run = hogwild.train(env, runs=str(tmp_path), steps=steps, detailed_logs=True, objective="a3c", **SMALL, **more)
    events = events_of(run)
    names = set(events.Tags()["tensors"])
    for group in ("weights", "gradients", "activations", "optimizer-0", "optimizer-1"):
        assert any(name.startswith(f"{group}/") for name in names), (group, names)
    assert events.Tags()["graph"]
    assert ("input/observation" in events.Tags()["images"]) == (env == "pong")
    settings = events.Tensors("settings")[0].tensor_proto.string_val[0].decode()
    assert f"| env | {env} |" in settings
    first = next(name for name in sorted(names) if name.startswith("weights/actor"))
    assert events.Tensors(first)[-1].step <= run.status["steps"]


def test_without_it_there_is_nothing_of_it(tmp_path: Path) -> None:
    run = hogwild.train("CartPole-v1", runs=str(tmp_path), steps=500, **SMALL)
    assert events_of(run).Tags()["tensors"] == ["settings"]


def moments(count: int) -> list[Any]:
    made = np.zeros(count, moment_dtype(PolicySpec((4,), "float32", choice(2))))
    for index, moment in enumerate(made):
        moment["number"], moment["observation"], moment["action"] = 10 + index, index, index % 2
        moment["log_prob"], moment["value"], moment["reward"] = -0.5 - index % 2, index / 10, 5.0
    made["over"][1:2] = True
    return list(made)


def test_moments_become_the_rollout_that_they_are() -> None:
    policy = Policy(PolicySpec((4,), "float32", choice(2)), PolicySettings(encoder="mlp"))
    rollout = rollout_of(moments(5), policy, lambda rewards: rewards.clip(-1, 1))
    assert rollout is not None
    assert rollout.observations[:, 0, 0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert rollout.actions[:, 0].tolist() == [0, 1, 0, 1]
    assert rollout.log_probs[:, 0].tolist() == [-0.5, -1.5, -0.5, -1.5]
    assert rollout.rewards[:, 0].tolist() == [1.0] * 4
    assert rollout.terminated[:, 0].tolist() == [False, True, False, False]
    assert rollout.first[:, 0].tolist() == [False, False, True, False, False]
    assert torch.equal(rollout.values[:, 0], torch.arange(5) / 10)


def test_gaps_make_no_rollout() -> None:
    policy = Policy(PolicySpec((4,), "float32", choice(2)), PolicySettings(encoder="mlp"))
    assert rollout_of(moments(1), policy, lambda r: r) is None
    assert rollout_of([*moments(2), *moments(5)[3:]], policy, lambda r: r) is None


def test_trouble_with_it_is_said_once_and_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise NotFinite("the gradient is not finite")

    monkeypatch.setattr(closeup, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(closeup.Closeup, "_numbers", fail)
    run = hogwild.train("CartPole-v1", runs=str(tmp_path), steps=1000, detailed_logs=True, **SMALL)
    assert run.status["state"] == "finished"
    assert run.folder.log.read_text().count("--detailed-logs: NotFinite") == 1
