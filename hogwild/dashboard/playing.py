"""A person plays, and sees exactly what an agent would get: every stage, the stack, the rewards, the actions."""

from collections import deque
from typing import Any, Protocol

import numpy as np

from hogwild.config.settings import Settings
from hogwild.envs.atari_game import AtariGame
from hogwild.envs.foreign import guarded
from hogwild.envs.make import layout_of, make_one
from hogwild.envs.observations import MASK
from hogwild.envs.protocols import Protocol as GameProtocol
from hogwild.images import as_bytes, as_colours, as_screen
from hogwild.policies.spec import PolicySpec
from hogwild.resolve import resolve
from hogwild.watching.message import data_url
from hogwild.watching.scene import ATARI_STEPS, SCREEN
from hogwild.watching.worker_view import atari_names

FRAMES_PER_STEP = 4  # pictures in colour that go to the browser for one step, at most


class Adviser(Protocol):
    """Somebody who says what they would do."""

    def start(self) -> None:
        """A new game begins."""
        ...

    def carried(self) -> dict[str, float]:
        """What their preprocessing had learned."""
        ...

    def advise(self, observation: Any, mask: Any = None) -> dict[str, Any]:
        """Probabilities of all actions, and the value."""
        ...


def playable(spec: PolicySpec, names: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """What a person can do with keys, by name: each choice; of switches and numbers one at a time, or nothing at all.

    >>> from hogwild.policies.spec import ActionPart
    >>> list(playable(PolicySpec((1,), "float32", (ActionPart("numbers", 1),))))
    ['nothing', 'number 0 −', 'number 0 +']
    """
    if spec.is_choice:
        return {name: np.array([index]) for index, name in enumerate(names or spec.action_names())}
    idle = np.zeros((1, *spec.action_shape), spec.action_dtype)
    found, shown = {"nothing": idle}, iter(spec.action_names())
    column = 0
    for part in spec.actions:
        if part.kind == "choice":
            options = [(column, next(shown), index) for index in range(part.size)][1:]
        else:
            values = (("", 1),) if part.kind == "switches" else ((" −", -1), (" +", 1))
            named = [(column + index, next(shown)) for index in range(part.size)]
            options = [(at, name + sign, value) for at, name in named for sign, value in values]
        column += 1 if part.kind == "choice" else part.size
        for at, name, value in options:
            found[name] = idle.copy()
            found[name][0, at] = value
    return found


class Sitting:
    """One person's game."""

    def __init__(self, settings: Settings, adviser: Adviser | None = None, seed: int = 0) -> None:
        """Where there is an adviser, the game is prepared as for them."""
        resolved = resolve(settings)
        self.settings, self.adviser, self.seed = resolved.settings, adviser, seed
        self.plan = resolved.plan.of_whole_games()
        self.is_atari = self.plan.is_atari
        self.layout = layout_of(self.plan, self.settings.environment, self.settings.execution.env_timeout)
        self.screens: deque[np.ndarray] = deque(maxlen=FRAMES_PER_STEP)
        self.env: Any = self._make()
        if isinstance(self.env, AtariGame) and adviser is not None:
            self.env.load_carried(adviser.carried())
        self.choices = playable(resolved.spec, atari_names(self.env))
        self.actions = tuple(self.choices)
        self.numbers: deque[int] = deque()
        self.score = self.learned = 0.0
        self.length = 0
        self.over = True

    def _make(self) -> Any:
        if self.is_atari:
            return make_one(self.plan, self.settings.environment, on_frame=self.screens.append)
        return guarded(
            self.plan.id,
            "be drawn",
            lambda: make_one(self.plan, self.settings.environment, render_mode="rgb_array"),
        )

    def describe(self) -> dict[str, Any]:
        """What does not change from step to step."""
        fps = ATARI_STEPS if self.is_atari else float(self.env.metadata.get("render_fps", 30))
        protocol: GameProtocol | None = self.plan.protocol
        return {
            "env": self.plan.id,
            "actions": self.actions,
            "shown": atari_names(self.env) or self.layout.spec.action_names(),
            "are_numbers": self.layout.spec.are_numbers(),
            "steps_per_second": fps,
            "wide": SCREEN if self.is_atari else 0.0,
            "protocol": protocol.describe() if protocol else "",
            "stack": self.settings.environment.frame_stack if self.is_atari else 1,
            "advised": self.adviser is not None,
        }

    def start(self) -> dict[str, Any]:
        """A new game."""
        self.seed += 1
        observation, info = guarded(self.plan.id, "reset", lambda: self.env.reset(seed=self.seed))
        self.score = self.learned = 0.0
        self.length, self.over = 0, False
        if self.adviser is not None:
            self.adviser.start()
        number = self._frame_number()
        self.numbers = deque([number] * self._stack, maxlen=self._stack)
        return self._message(observation, info, 0.0, 0.0)

    def step(self, action: int) -> dict[str, Any]:
        """Hold an action for one step; after the end of a game a new one begins."""
        if self.over:
            return self.start()
        action = min(max(int(action), 0), len(self.actions) - 1)
        self.screens.clear()
        observation, reward, terminated, truncated, info = guarded(
            self.plan.id, "step", lambda: self.env.step(self.layout.actions(self.choices[self.actions[action]])[0])
        )
        reward = float(reward)
        learned = float(self.plan.as_learned(np.asarray(reward), self.settings.environment))
        self.score, self.learned, self.length = self.score + reward, self.learned + learned, self.length + 1
        self.over = bool(info.get("game_over", terminated) or truncated)
        self.numbers.append(self._frame_number())
        return self._message(observation, info, reward, learned) | {
            "action": action,
            "taken": self.layout.spec.taken(self.choices[self.actions[action]][0]).tolist(),
        }

    @property
    def _stack(self) -> int:
        return len(self.env.pictures) if isinstance(self.env, AtariGame) else 1

    def _frame_number(self) -> int:
        return int(self.env.ale.getEpisodeFrameNumber()) if isinstance(self.env, AtariGame) else self.length

    def _screens(self) -> list[np.ndarray]:
        if isinstance(self.env, AtariGame):
            return list(self.screens) or [np.asarray(self.env.ale.getScreenRGB())]
        return [guarded(self.plan.id, "be drawn", lambda: as_screen(self.env.render()))]

    def _message(self, observation: Any, info: dict[str, Any], reward: float, learned: float) -> dict[str, Any]:
        stages, stack, numbers = [], [], None
        if isinstance(self.env, AtariGame):
            stages = [{"name": name, "picture": data_url(as_bytes(seen))} for name, seen in self.env.view_stages()]
            stack = [
                {"frame": frame, "picture": data_url(as_bytes(picture))}
                for frame, picture in zip(self.numbers, self.env.pictures, strict=False)
            ]
        else:
            seen = self.layout.observations.read(observation, info.get(MASK))[0][0]
            picture = as_colours(seen, stacked=False)
            if picture is None:
                numbers = [round(float(value), 4) for value in np.ravel(seen)[:64]]
            else:
                stack = [{"frame": self.length, "picture": data_url(picture)}]
        return {
            "screens": [data_url(screen) for screen in self._screens()],
            "stages": stages,
            "stack": stack,
            "numbers": numbers,
            "reward": reward,
            "learned": learned,
            "score": self.score,
            "learned_score": self.learned,
            "lives": int(self.env.ale.lives()) if isinstance(self.env, AtariGame) else None,
            "length": self.length,
            "over": self.over,
            "advice": None if self.adviser is None or self.over else self.adviser.advise(observation, info.get(MASK)),
        }
