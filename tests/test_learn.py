"""Does it learn? The probe environments isolate one part each; CartPole needs all of them together."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

import hogwild
from hogwild.agent import Agent
from hogwild.envs.probes import PROBES
from hogwild.policies.policy import Output

pytestmark = pytest.mark.learn

MEMORIES = ["none", "lstm", "gru"]
LOCKS = ["free", "turns"]
DISCOUNT = 0.5
PROBE_SETTINGS = {
    "workers": 2,
    "envs": 8,
    "rollout_steps": 8,
    "learning_rate": 1e-2,
    "learning_rate_final": 0.0,
    "memory_size": 16,
    "discount": DISCOUNT,
    "reward_scale": 1.0,
    "steps": 6000,
}


def train_on_probe(probe: str, folder: Path, **settings: object) -> Agent:
    return hogwild.load(hogwild.train(probe, runs=str(folder), **{**PROBE_SETTINGS, **settings}))


def answer(agent: Agent, *seen: float) -> Output:
    """What the policy says of a sequence of observations from the beginning of an episode."""
    observations = torch.tensor(seen).view(-1, 1, 1)
    first = torch.zeros(len(seen), 1, dtype=torch.bool)
    with torch.no_grad():
        return agent.policy(observations, agent.policy.initial_state(1), first)  # type: ignore[no-any-return]


def assert_solved(probe: str, agent: Agent) -> None:
    name = probe.removeprefix("hogwild/Probe").removesuffix("-v0")
    high, low = answer(agent, 1.0), answer(agent, -1.0)
    if name == "Constant":
        assert high.value[-1].item() == pytest.approx(1.0, abs=0.15)
    elif name == "Observation":
        assert high.value[-1].item() == pytest.approx(1.0, abs=0.15)
        assert low.value[-1].item() == pytest.approx(-1.0, abs=0.15)
    elif name == "Delayed":
        both = answer(agent, 1.0, -1.0)
        assert both.value.flatten().tolist() == pytest.approx([DISCOUNT, 1.0], abs=0.15)
    elif name == "Action":
        assert high.parameters[-1, 0, 1].item() > math.log(0.95)
    else:
        assert high.parameters[-1, 0, 1].item() > math.log(0.9)
        assert low.parameters[-1, 0, 0].item() > math.log(0.9)


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("probe", PROBES)
def test_every_probe_is_solved_inline(probe: str, memory: str, lock: str, tmp_path: Path) -> None:
    assert_solved(probe, train_on_probe(probe, tmp_path, engine="inline", memory=memory, lock=lock))


@pytest.mark.parametrize("probe", PROBES)
def test_every_probe_is_solved_by_processes(probe: str, tmp_path: Path) -> None:
    assert_solved(probe, train_on_probe(probe, tmp_path, engine="processes"))


@pytest.mark.parametrize("memory", ["lstm", "gru"])
@pytest.mark.parametrize("lock", LOCKS)
def test_memories_learn_in_processes(memory: str, lock: str, tmp_path: Path) -> None:
    probe = "hogwild/ProbeObservationAction-v0"
    assert_solved(probe, train_on_probe(probe, tmp_path, engine="processes", memory=memory, lock=lock))


@pytest.mark.parametrize("optimizer", ["adam", "amsgrad", "nadam", "rmsprop", "rmsprop-tf"])
@pytest.mark.parametrize("shared_statistics", [True, False])
def test_every_optimizer_learns(optimizer: str, shared_statistics: bool, tmp_path: Path) -> None:
    probe = "hogwild/ProbeObservationAction-v0"
    # TensorFlow's accumulator starts at 1, so its first steps are as small as the gradients; torch's starts at 0 and is
    # not corrected for that, so its first steps are ten times the learning rate.
    rate = {"rmsprop-tf": 0.1, "rmsprop": 0.003}.get(optimizer, 0.01)
    options = {
        **{"engine": "inline", "optimizer": optimizer, "learning_rate": rate},
        "shared_statistics": shared_statistics,
    }
    assert_solved(probe, train_on_probe(probe, tmp_path, **options))


@pytest.mark.parametrize("returns", ["gae", "n-step", "monte-carlo"])
def test_every_kind_of_return_learns(returns: str, tmp_path: Path) -> None:
    probe = "hogwild/ProbeDelayed-v0"
    assert_solved(probe, train_on_probe(probe, tmp_path, engine="inline", returns=returns))


def test_cartpole_reaches_400_and_an_evaluation_confirms_it(tmp_path: Path) -> None:
    run = hogwild.train("CartPole-v1", engine="inline", workers=2, until_return=400, steps=600_000, runs=str(tmp_path))
    assert run.status["return_mean"] >= 400
    assert run.evaluate(episodes=20, greedy=True).summary()["mean"] >= 400


@pytest.mark.parametrize("memory", ["gru", "lstm", "none"])
def test_what_was_seen_long_ago_is_remembered_by_a_memory_only(memory: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        **{"objective": "ppo", "rollout_steps": 64, "minibatches": 4, "epochs": 4, "normalise_advantage": True},
        **{"gae_lambda": 1.0, "learning_rate": 7e-4, "memory": memory, "memory_size": 64},
        **{"engine": "inline", "workers": 1, "envs": 32, "until_return": 0.95},
    }
    steps = 200_000 if memory != "none" else 60_000
    run = hogwild.train("tests.memory_probe:hogwild-tests/Memory-v0", steps=steps, runs=str(tmp_path), **settings)
    log = run.folder.log.read_text()
    assert ("solved: mean return" in log) == (memory != "none"), run.metrics()[-1]["episode/return_mean"]
