"""Exported policies answer as the agent does, in runtimes that know nothing of Hogwild."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

import hogwild
from hogwild.cli.main import run as command
from hogwild.deployed import Deployed, arranged
from hogwild.envs.observations import leaves
from hogwild.errors import UsageError
from hogwild.exporting import export, facts, questions
from tests.spaces_probe import ACTIONS, SHAPES, probe_id

SMALL: dict[str, Any] = {
    "engine": "inline",
    "workers": 1,
    "envs": 2,
    "steps": 300,
    "rollout_steps": 8,
    "minibatches": 1,
}
EXAMPLE = Path(__file__).parents[1] / "examples" / "play_onnx.py"


def trained(tmp_path: Path, env: str, **settings: Any) -> hogwild.Agent:
    return hogwild.train(env, runs=str(tmp_path), name="run", **SMALL | settings).load()


@pytest.mark.parametrize("kind", ["onnx", "torchscript"])
@pytest.mark.parametrize("memory", ["none", "gru", "lstm"])
@pytest.mark.parametrize("actions", ACTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_kind_of_policy_is_exported_and_answers_alike(
    tmp_path: Path, kind: str, memory: str, actions: str, shape: str
) -> None:
    env = f"tests.spaces_probe:{probe_id(actions, shape, 'a3c' if memory == 'none' else 'mlp')}"
    agent = trained(tmp_path, env, memory=memory, memory_size=8, encoder_size=8, normalise_steps=50)
    assert export(agent, tmp_path / "policy", kind) < 1e-5


@pytest.mark.parametrize("squash", [False, True])
def test_numbers_are_squashed_and_rescaled_inside_the_graph(tmp_path: Path, squash: bool) -> None:
    import onnxruntime

    agent = trained(tmp_path, "Pendulum-v1", squash=squash, normalise="running", normalise_steps=64)
    export(agent, tmp_path / "policy.onnx", "onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "policy.onnx"), providers=["CPUExecutionProvider"])
    seen = 3 * np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
    action = session.run(["action"], {"observation": seen})[0]
    wanted, _ = agent.predict(seen, deterministic=True)
    np.testing.assert_allclose(action, wanted, atol=1e-5)
    assert np.abs(action).max() <= 2.0


def test_masks_are_respected_inside_the_graph(tmp_path: Path) -> None:
    import onnxruntime

    agent = trained(tmp_path, f"tests.spaces_probe:{probe_id('masked', 'array', 'mlp')}")
    export(agent, tmp_path / "policy.onnx", "onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "policy.onnx"), providers=["CPUExecutionProvider"])
    for allowed in range(4):
        mask = np.zeros((1, 4), np.uint8)
        mask[0, allowed] = 1
        asked = {"observation": np.zeros((1, 2), np.float32), "action_mask": mask}
        assert session.run(["action"], asked)[0].tolist() == [allowed]


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-1, 1, (3, 2), np.float64),
        spaces.Box(0, 255, (20, 18, 3), np.uint8),
        spaces.Box(0, 255, (3, 20, 18), np.uint8),
        spaces.Box(0, 1, (20, 18), np.float32),
        spaces.Box(0, 255, (20, 18, 12), np.uint8),
        spaces.Box(0, 255, (4, 20, 18, 3), np.uint8),
        spaces.Box(0, 255, (7, 7, 3), np.uint8),  # cells of a grid, some of them of kinds that nobody knows
        spaces.Discrete(5, start=-2),
        spaces.MultiDiscrete([[2, 3], [4, 5]], start=[[0, -1], [2, 0]]),
        spaces.MultiBinary([2, 3]),
    ],
    ids=str,
)
def test_the_graph_lays_out_every_space_as_training_does(space: spaces.Space[Any]) -> None:
    space.seed(0)
    for leaf in leaves("MiniGrid-Empty-5x5-v0", space):
        batch = np.stack([space.sample() for _ in range(16)])
        laid = arranged(torch.from_numpy(batch), leaf).numpy()
        np.testing.assert_array_equal(laid, leaf.arrange(batch))


def test_the_graph_packs_parts_and_mask_as_training_does(tmp_path: Path) -> None:
    agent = trained(tmp_path, f"tests.spaces_probe:{probe_id('masked', 'dict', 'a3c')}")
    seen, info = agent.make_env().reset(seed=3)
    asked = [torch.from_numpy(seen["first"])[None], torch.from_numpy(seen["second"])[None]]
    laid = Deployed(agent).laid_out([*asked, torch.from_numpy(info["action_mask"])[None]])
    np.testing.assert_array_equal(laid.numpy(), agent.batch_of(seen, info["action_mask"])[0])


def test_plain_weights_come_with_the_facts(tmp_path: Path) -> None:
    from safetensors import safe_open

    agent = trained(tmp_path, "CartPole-v1")
    export(agent, tmp_path / "policy.safetensors", "safetensors")
    with safe_open(tmp_path / "policy.safetensors", "pt") as file:
        assert json.loads(file.metadata()["hogwild"]) == json.loads(json.dumps(facts(agent)))
        for name, tensor in agent.policy.state_dict().items():
            assert torch.equal(file.get_tensor(name), tensor)


def test_facts_say_how_atari_pictures_are_made(tmp_path: Path) -> None:
    agent = trained(tmp_path, "pong", steps=64, envs=1, image_size=42, image_width=40, normalise="off")
    found = facts(agent)["atari"]
    assert (found["picture"], found["frame_skip"], found["recipe"]) == ([42, 40], [4, 4], "standard")
    assert questions(agent, 3)[0].shape == (3, *agent.spec.observation_shape)
    assert export(agent, tmp_path / "pong.onnx", "onnx") < 1e-5


@pytest.mark.parametrize(
    "env", ["CartPole-v1", "Taxi-v4", "minigrid:MiniGrid-MemoryS7-v0", "tests.acting_env:Acting-v0"]
)
def test_the_example_plays_with_it_as_the_agent_does(env: str, tmp_path: Path) -> None:
    agent = trained(tmp_path, env, memory="gru", memory_size=8)
    out = tmp_path / "policy.onnx"
    assert command(["export", "run", "--runs", str(tmp_path), "--out", str(out)]) == 0
    without = f"import sys; sys.modules['hogwild'] = None; sys.argv = ['x', {str(out)!r}, '2']"
    words = [sys.executable, "-I", "-c", f"{without}; exec(open({str(EXAMPLE)!r}).read())"]
    played = subprocess.run(words, check=True, capture_output=True, text=True)
    assert played.stdout == f"mean return of 2 episodes: {np.mean([score(agent, seed) for seed in (0, 1)]):.1f}\n"


def test_actions_of_every_form_leave_the_graph_as_the_environment_wants_them(tmp_path: Path) -> None:
    agent = trained(tmp_path, "tests.acting_env:Acting-v0")
    outputs = {each["output"]: (each["shape"], each["dtype"]) for each in facts(agent)["action"]["outputs"]}
    assert outputs == {
        "action.both.0": ([], "int64"),
        "action.both.1": ([2, 2], "int8"),
        "action.numbers": ([2, 3], "float32"),
    }
    assert export(agent, tmp_path / "policy.onnx", "onnx") < 1e-5


def test_parts_that_would_have_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"would have one name \(observation.a.b\)"):
        export(trained(tmp_path, "tests.acting_env:Twice-v0"), tmp_path / "policy.onnx", "onnx")


def score(agent: hogwild.Agent, seed: int) -> float:
    game = agent.make_env()
    (seen, info), state, total, over = game.reset(seed=seed), None, 0.0, False
    while not over:
        action, state = agent.predict(seen, state, deterministic=True, action_masks=info.get("action_mask"))
        seen, reward, terminated, truncated, info = game.step(action)
        total, over = total + float(reward), terminated or truncated
    return total


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--dropout"):
        export(trained(tmp_path, "CartPole-v1", dropout=0.5), tmp_path / "policy.onnx", "onnx")
