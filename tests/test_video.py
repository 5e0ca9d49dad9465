"""Films: in colour, at the right size and speed, with every frame that was reported."""

import gc
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import imageio_ffmpeg
import numpy as np
import pytest

import hogwild
from hogwild.agent import Agent
from hogwild.errors import EnvironmentFailed, RunFolderError, UsageError
from hogwild.video import film

pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # imageio_ffmpeg leaves its pipes open


@pytest.fixture(autouse=True)
def clean_up() -> Iterator[None]:
    """Close the pipes here, not in the middle of somebody else's test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def frames_of(path: Path) -> tuple[dict[str, Any], list[np.ndarray]]:
    reader = imageio_ffmpeg.read_frames(str(path))
    about = next(reader)
    width, height = about["size"]
    return about, [np.frombuffer(frame, np.uint8).reshape(height, width, 3) for frame in reader]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


def train(runs: Path, env: str, name: str, **settings: Any) -> Agent:
    few = {"engine": "inline", "workers": 1, "steps": 64, "rollout_steps": 16, "runs": str(runs), "name": name}
    return hogwild.load(hogwild.train(env, **few | settings))


@pytest.fixture(scope="module")
def pong(runs: Path) -> Agent:
    return train(runs, "pong", "pong", envs=1, frame_limit=400, encoder="a3c")


def test_an_atari_game_is_filmed_in_colour_at_the_size_of_a_television(pong: Agent, tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "game.mp4"
    score, count = film(pong, path)
    about, frames = frames_of(path)
    assert about["size"] == (640, 480)
    assert about["fps"] == 60
    assert len(frames) == count
    assert 350 <= count <= 404  # the game is cut off at 400 frames
    assert -21 <= score <= 0
    middle, last = frames[count // 2].astype(int), frames[-1].astype(int)
    assert np.abs(last[..., 0] - last[..., 2]).max() > 50  # red and blue differ
    assert np.abs(last - middle).max() > 50  # something moves


class Painted(gymnasium.Env[np.ndarray, np.int64]):
    """Seven steps; the picture is red, of odd height and width, and gets brighter. Actions are 3 and 4."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2, start=3)
        self.render_mode = render_mode
        self.time = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.time = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert action in (3, 4)
        self.time += 1
        return np.zeros(1, np.float32), 2.0, False, self.time == 7, {}

    def render(self) -> np.ndarray:  # type: ignore[override]
        picture = np.zeros((33, 47, 3), np.uint8)
        picture[..., 0] = 100 + 20 * self.time
        return picture


@pytest.fixture(scope="module")
def painted(runs: Path) -> Iterator[Agent]:
    gymnasium.register("Painted-v0", entry_point=Painted)
    yield train(runs, "Painted-v0", "painted", envs=2)
    del gymnasium.registry["Painted-v0"]


def test_any_environment_that_renders_is_filmed_at_its_own_speed(painted: Agent, tmp_path: Path) -> None:
    score, count = film(painted, tmp_path / "game.mp4")
    about, frames = frames_of(tmp_path / "game.mp4")
    assert score == 14.0
    assert count == len(frames) == 7
    assert about["fps"] == 10
    assert about["size"] == (48, 34)  # the codec wants even numbers
    assert np.mean(frames, axis=(0, 1, 2)) == pytest.approx([160, 0, 0], abs=12)
    assert np.all(np.diff(np.mean(frames, axis=(1, 2))[:, 0]) > 10)


def test_a_film_is_the_same_for_the_same_seed(painted: Agent, tmp_path: Path) -> None:
    for name in ("a.mp4", "b.mp4"):
        film(painted, tmp_path / name, seed=3)
    np.testing.assert_array_equal(frames_of(tmp_path / "a.mp4")[1], frames_of(tmp_path / "b.mp4")[1])


def test_a_place_that_cannot_be_written_is_an_error_in_one_line(painted: Agent, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="Cannot film to") as caught:
        film(painted, tmp_path / "file" / "game.mp4")
    assert len(str(caught.value).splitlines()) == 1


def test_a_film_named_like_a_folder_is_an_error_in_a_line_or_two(painted: Agent, tmp_path: Path) -> None:
    (tmp_path / "game.mp4").mkdir()
    with pytest.raises(RunFolderError, match="Cannot film to") as caught:
        film(painted, tmp_path / "game.mp4")
    assert len(str(caught.value).splitlines()) <= 2


def test_an_environment_that_cannot_render_here_says_what_is_missing(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    agent = train(runs, "CartPole-v1", "cart", envs=2)
    with pytest.raises(UsageError, match=r"CartPole-v1.*pip install 'hogwild\[render\]'"):
        film(agent, tmp_path / "game.mp4")


@pytest.mark.fault(9)
def test_a_film_that_was_not_finished_is_none(painted: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    film(painted, tmp_path / "game.mp4")
    whole = (tmp_path / "game.mp4").read_bytes()
    monkeypatch.setattr(Painted, "step", lambda self, action: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        film(painted, tmp_path / "game.mp4")
    assert (tmp_path / "game.mp4").read_bytes() == whole
    assert [p.name for p in tmp_path.iterdir()] == ["game.mp4"]


@pytest.mark.fault(9)
def test_a_film_whose_maker_was_killed_is_none(pong: Agent, runs: Path, tmp_path: Path) -> None:
    path = tmp_path / "game.mp4"
    words = [sys.executable, "-m", "hogwild", "eval", str(runs / "pong"), "--episodes", "1", "--video", str(path)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        unfinished = tmp_path / f".{process.pid}-game.mp4"
        while not unfinished.exists():
            assert process.poll() is None
            time.sleep(0.002)
        process.kill()
    assert not path.exists()


@pytest.mark.filterwarnings("ignore:.*RGB-array rendering should return a numpy array")
def test_an_environment_that_never_renders_says_so(
    painted: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Painted, "render", lambda self: None)
    with pytest.raises(EnvironmentFailed, match="cannot be filmed"):
        film(painted, tmp_path / "game.mp4")
