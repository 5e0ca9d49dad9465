"""Films of an agent at play: in colour, at the aspect ratio of the screen it was made for."""

import os
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from hogwild.agent import Agent
from hogwild.envs.foreign import guarded
from hogwild.envs.make import can_be_drawn, make_one
from hogwild.envs.observations import MASK
from hogwild.errors import EnvironmentFailed, RunFolderError
from hogwild.evaluation import Player
from hogwild.worker import worker_seeds

ATARI_SIZE = (640, 480)  # a television's 4:3; the console's pixels are wider than high
ATARI_FPS = 60
FILM_SEEDS = 0xF11A


def film(agent: Agent, path: Path, *, greedy: bool = False, epsilon: float = 0.0, seed: int = 0) -> tuple[float, int]:
    """Film one whole game to an MP4 file; answers its return and its number of frames."""
    if path.is_dir():
        raise RunFolderError(f"Cannot film to '{path}': that is a folder.")
    plan, settings = agent.plan.of_whole_games(), agent.settings.environment
    require_pictures(agent)
    camera = Camera(path)
    try:
        if plan.is_atari:
            env: Any = make_one(plan, settings, on_frame=lambda f: camera.take(f, ATARI_FPS, ATARI_SIZE))
            env.load_carried(agent.carried[0] if agent.carried else {})
        else:
            env = guarded(
                f"{plan.id} (for filming)", "be made", lambda: make_one(plan, settings, render_mode="rgb_array")
            )
        seeds = worker_seeds(seed, FILM_SEEDS, 0, 2)
        score = _play(env, Player(agent, 1, greedy, epsilon, seeds[0]), seeds[1], camera, plan.is_atari)
        env.close()
        camera.finish()
    except (OSError, ImportError) as error:
        raise RunFolderError(f"Cannot film to '{path}': {error}") from None
    finally:
        camera.close()
    return score, camera.frames


def require_pictures(agent: Agent) -> None:
    """Refuse to film what cannot be drawn, before anything is played."""
    if not can_be_drawn(agent.plan, agent.settings.environment, agent.settings.execution.env_timeout):
        raise EnvironmentFailed(f"'{agent.plan.id}' cannot be filmed: 'rgb_array' is not among its render_modes.")


def _play(env: Any, player: Player, seed: int, camera: "Camera", films_itself: bool) -> float:
    fps = int(env.metadata.get("render_fps", 30))
    layout = player.agent.layout
    observation, info = env.reset(seed=seed)
    first, score = np.ones(1, dtype=bool), 0.0
    while True:
        if not films_itself:
            camera.take(guarded(player.agent.plan.id, "be drawn", env.render), fps)
        batch, _ = layout.observations.read(observation, info.get(MASK))
        observation, reward, terminated, truncated, info = env.step(layout.actions(player.act(batch, first))[0])
        score += float(reward)
        first = np.zeros(1, dtype=bool)
        if info.get("game_over", terminated) or truncated:
            return score


class Camera:
    """Writes frames to an MP4 file through ffmpeg; starts with the first frame, whose size it takes. The file gets its
    name when it is finished: there is never half a film."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unfinished = path.with_name(f".{os.getpid()}-{path.name}")
        self.frames = 0
        self.writer: Generator[None, bytes, None] | None = None

    def take(self, frame: np.ndarray | None, fps: int, size: tuple[int, int] | None = None) -> None:
        """Add a frame [height, width, 3], shown at `size` (width, height) if given."""
        if frame is None:
            raise EnvironmentFailed("The environment cannot be filmed: its render() shows nothing.")
        if self.writer is None:
            self.writer = self._open(frame, fps, size)
        self.writer.send(np.ascontiguousarray(frame).tobytes())
        self.frames += 1

    def _open(self, frame: np.ndarray, fps: int, size: tuple[int, int] | None) -> "Generator[None, bytes, None]":
        import imageio_ffmpeg

        height, width = frame.shape[:2]
        shown = size or (width + width % 2, height + height % 2)  # the codec wants even numbers
        self.path.parent.mkdir(parents=True, exist_ok=True)
        writer: Generator[None, bytes, None] = imageio_ffmpeg.write_frames(
            str(self.unfinished),
            (width, height),
            fps=fps,
            codec="libx264",
            quality=None,
            macro_block_size=1,
            output_params=[
                "-crf",
                "18",
                "-vf",
                f"scale={shown[0]}:{shown[1]}:flags=neighbor",
                "-movflags",
                "faststart",
            ],
        )
        writer.send(None)  # type: ignore[arg-type]
        return writer

    def finish(self) -> None:
        """Give the film its name."""
        self._stop()
        if not self.unfinished.is_file() or self.unfinished.stat().st_size == 0:
            raise OSError("ffmpeg wrote nothing")
        os.replace(self.unfinished, self.path)

    def close(self) -> None:
        """Take away what was not finished."""
        self._stop()
        with suppress(OSError):
            self.unfinished.unlink(missing_ok=True)

    def _stop(self) -> None:
        if self.writer is not None:
            self.writer.close()
            self.writer = None
