"""A person at play sees what an agent would get, number for number."""

import base64
import zlib
from pathlib import Path

import numpy as np
import pytest

import hogwild
from hogwild.dashboard.adviser import AgentAdviser
from hogwild.dashboard.playing import Sitting
from hogwild.envs.ids import plan_env
from hogwild.envs.make import make_one
from hogwild.resolve import layer


def grey(url: str) -> np.ndarray:
    """The pixels of a grey PNG of ours."""
    content = base64.b64decode(url.split(",")[1])
    width, height = (int.from_bytes(content[start : start + 4]) for start in (16, 20))
    length = int.from_bytes(content[33:37])
    rows = zlib.decompress(content[41 : 41 + length])
    return np.frombuffer(rows, dtype=np.uint8).reshape(height, width + 1)[:, 1:]


def test_the_stack_is_the_observation_of_the_game_played_the_same_way() -> None:
    settings = layer("pong")
    sitting = Sitting(settings, seed=4)
    game = make_one(plan_env(settings).of_whole_games(), settings.environment)
    observation, _ = game.reset(seed=5)  # the first game of a sitting has the next seed
    first = sitting.start()
    for action in (2, 2, 3, 0, 5):
        played = sitting.step(action)
        observation, reward, *_ = game.step(np.int64(action))
        assert np.array_equal(np.stack([grey(each["picture"]) for each in played["stack"]]), observation)
        assert played["reward"] == reward
        assert played["action"] == action
    frames = [each["frame"] for each in played["stack"]]
    assert np.diff(frames).tolist() == [4] * (len(frames) - 1)
    assert len(played["screens"]) == 4
    assert played["stages"][0]["name"] == "screen"
    assert first["length"] == 0
    assert played["length"] == 5


def test_rewards_are_shown_raw_and_as_they_are_learned_from() -> None:
    sitting = Sitting(layer("CartPole-v1"))
    sitting.start()
    played = sitting.step(0)
    assert played["reward"] == 1.0
    assert played["learned"] == pytest.approx(0.05)
    assert len(played["numbers"]) == 4
    assert played["lives"] is None


def test_a_game_that_is_over_says_so_and_the_next_one_begins() -> None:
    sitting = Sitting(layer("CartPole-v1"))
    sitting.start()
    steps = 0
    while not (played := sitting.step(1))["over"]:
        steps += 1
        assert steps < 100
    assert played["score"] == steps + 1
    assert sitting.step(1)["length"] == 0


def test_actions_out_of_range_do_no_harm() -> None:
    sitting = Sitting(layer("pong"))
    sitting.start()
    assert sitting.step(10**9)["action"] == 5
    assert sitting.step(-3)["action"] == 0


def test_advice_is_what_the_agent_says(runs: Path) -> None:
    agent = hogwild.load("cart-0", runs=str(runs))
    sitting = Sitting(agent.settings, AgentAdviser(agent))
    advice = sitting.start()["advice"]
    assert sum(advice["probabilities"]) == pytest.approx(1, abs=1e-3)
    env = agent.make_env()
    observation, _ = env.reset(seed=1)
    action, _ = agent.predict(observation, deterministic=True)
    assert int(np.argmax(advice["probabilities"])) == int(action)


def test_an_agent_is_advised_by_what_its_preprocessing_had_learned(tmp_path: Path) -> None:
    small = {"engine": "inline", "workers": 1, "envs": 1, "steps": 64, "rollout_steps": 16}
    run = hogwild.train("pong", preset="a3g-pong-cpu", runs=str(tmp_path), **small)
    agent = hogwild.load(run)
    assert agent.carried
    sitting = Sitting(agent.settings, AgentAdviser(agent))
    assert sitting.env.carried() == agent.carried[0]
