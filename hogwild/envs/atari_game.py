"""One Atari game under a protocol and a recipe, stepped from Python.

Slower than the C++ batch, and used where that cannot go: the recipes of published agents, random frame-skips, films in
colour, saving and restoring the emulator, and looking at each stage of preprocessing.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from hogwild.envs.protocols import Protocol
from hogwild.envs.recipes import Recipe
from hogwild.envs.stages import RunningNormaliser


class AtariGame(gymnasium.Env[np.ndarray, np.int64]):
    """A game as a Gymnasium environment; `info["game_over"]` tells a lost life from the end of the game."""

    has_lives = True  # an episode may be less than a game: `info["game_over"]` tells

    def __init__(
        self,
        rom: str,
        protocol: Protocol,
        recipe: Recipe,
        on_frame: Callable[[np.ndarray], None] | None = None,
    ) -> None:
        """`on_frame` is called with every emulator frame in colour, for filming."""
        self.rom = rom
        self.protocol = protocol
        self.recipe = recipe
        self.on_frame = on_frame
        self.stages = recipe.make_stages(rom)
        self.ale = self._load(seed=0)
        legal = self.ale.getLegalActionSet() if protocol.full_actions else self.ale.getMinimalActionSet()
        self.actions = list(legal)
        self.names = [action.name for action in self.actions]
        self.noop, self.fire = type(legal[0]).NOOP, type(legal[0]).FIRE
        self.last_action = self.noop
        self.action_space = gymnasium.spaces.Discrete(len(self.actions))
        self.screens: deque[np.ndarray] = deque(maxlen=recipe.pool)
        picture = self._picture_of(self._screen())
        self.pictures: deque[np.ndarray] = deque([picture] * recipe.stack, maxlen=recipe.stack)
        self.blank = np.zeros_like(picture)
        shape = (recipe.stack, *picture.shape)
        high = 255 if picture.dtype == np.uint8 else np.inf
        low = 0 if picture.dtype == np.uint8 else -np.inf
        self.observation_space = gymnasium.spaces.Box(low, high, shape, picture.dtype.type)
        self.lives = 0
        self.game_over = True
        self._forget_learned()

    def _load(self, seed: int) -> Any:
        import ale_py

        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        ale = ale_py.ALEInterface()
        ale.setInt("random_seed", seed)
        ale.setFloat("repeat_action_probability", 0.0)  # actions stick here, where it can be saved what stuck
        ale.loadROM(ale_py.roms.get_rom_path(self.rom))
        return ale

    def _forget_learned(self) -> None:
        for stage in self.stages:
            if isinstance(stage, RunningNormaliser):
                stage.mean = stage.deviation = 0.0
                stage.count = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a new game, or go on after a lost life."""
        super().reset(seed=seed, options=options)
        if seed is not None:
            self.ale = self._load(int(self.np_random.integers(2**31)))
        if self.game_over or seed is not None:
            self._start_game()
        elif self.recipe.life_noop:
            self._advance(self.noop)
        return self._observation(), {"game_over": False}

    def _start_game(self) -> None:
        self.ale.reset_game()
        self.last_action = self.noop
        self.game_over = False
        self.screens.clear()
        self.screens.append(self._screen())
        if self.protocol.noops:
            for _ in range(int(self.np_random.integers(self._least_noops, self.protocol.noops + 1))):
                self._frame(self.noop)
        has_fire = self.protocol.fire_reset and self.fire in self.actions
        if self.recipe.first_pair:
            self._frame(self.noop)
        if has_fire and not self.recipe.fire_steps:
            self._frame(self.fire)
        self._fill_stack()
        if has_fire and self.recipe.fire_steps:
            self._advance(self.actions[1])
            self._advance(self.actions[2])
        self.lives = self.ale.lives()

    def _fill_stack(self) -> None:
        self.pictures.clear()
        if self.recipe.fill == "black":
            self.pictures.extend([self.blank] * self.recipe.stack)
        self.pictures.append(self._picture() if self.recipe.first_pair else self._picture_of(self.screens[-1]))
        if self.recipe.fill == "no-ops":
            for _ in range(self.recipe.stack - 1):
                self._advance(self.noop)

    @property
    def _least_noops(self) -> int:
        return 1 if self.recipe.name == "a3g" else 0

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Hold one action for as many frames as the protocol says."""
        reward = self._advance(self.actions[int(action)])
        self.game_over = self.ale.game_over()
        truncated = not self.game_over and self.ale.getEpisodeFrameNumber() >= self.protocol.frame_limit
        life_lost = self.protocol.life_loss and 0 < self.ale.lives() < self.lives
        self.lives = self.ale.lives()
        terminated = self.game_over or life_lost
        if truncated:
            self.game_over = True
        return self._observation(), reward, terminated, truncated, {"game_over": self.game_over}

    def _advance(self, action: Any) -> float:
        if not self.recipe.first_pair:
            self.screens.clear()  # only frames of one step are pooled
        low, high = self.protocol.frame_skip
        frames = low if low == high else int(self.np_random.integers(low, high + 1))
        reward = 0.0
        for _ in range(frames):
            reward += self._frame(action)
            if self.ale.game_over():
                break
        self.pictures.append(self._picture())
        return reward

    def _frame(self, action: Any) -> float:
        if self.protocol.sticky and self.np_random.random() < self.protocol.sticky:
            action = self.last_action
        self.last_action = action
        reward = float(self.ale.act(action))
        self.screens.append(self._screen())
        if self.on_frame is not None:
            self.on_frame(self.ale.getScreenRGB())
        return reward

    def _screen(self) -> np.ndarray:
        screen = self.ale.getScreenRGB() if self.recipe.colour else self.ale.getScreenGrayscale()
        return np.asarray(screen)

    def _picture(self) -> np.ndarray:
        pooled = self.screens[-1] if len(self.screens) == 1 else np.max(self.screens, axis=0)
        return self._picture_of(pooled)

    def _picture_of(self, screen: np.ndarray) -> np.ndarray:
        for stage in self.stages:
            screen = stage.apply(screen)
        return screen

    def _observation(self) -> np.ndarray:
        return np.stack(self.pictures)

    def view_stages(self) -> list[tuple[str, np.ndarray]]:
        """The newest picture after each stage, for looking at; nothing is learned from it.

        >>> from hogwild.envs.protocols import PROTOCOLS
        >>> from hogwild.envs.recipes import make_recipe
        >>> game = AtariGame("pong", PROTOCOLS["universe"], make_recipe("universe"))
        >>> _ = game.reset(seed=0)
        >>> [(name, picture.shape) for name, picture in game.view_stages()][-1]
        ('scale', (42, 42))
        """
        learned = self.carried()
        picture = np.max(self.screens, axis=0)
        seen = [("screen", picture)]
        for stage in self.stages:
            picture = stage.apply(picture)
            seen.append((stage.name, picture))
        self.load_carried(learned)
        return seen

    def carried(self) -> dict[str, float]:
        """What the stages have learned while playing."""
        for stage in self.stages:
            if isinstance(stage, RunningNormaliser):
                return {"mean": stage.mean, "deviation": stage.deviation, "count": stage.count}
        return {}

    def load_carried(self, carried: dict[str, float]) -> None:
        """Take over what stages had learned."""
        for stage in self.stages:
            if isinstance(stage, RunningNormaliser) and carried:
                stage.mean, stage.deviation = carried["mean"], carried["deviation"]
                stage.count = int(carried["count"])

    def save_state(self) -> dict[str, Any]:
        """Everything needed to go on from here, the emulator's random generator included."""
        return {
            "emulator": np.frombuffer(self.ale.cloneState(include_rng=True).serialize(), dtype=np.uint8),
            "screens": list(self.screens),
            "pictures": list(self.pictures),
            "lives": self.lives,
            "game_over": self.game_over,
            "carried": self.carried(),
            "last_action": self.last_action.value,
            "random": self.np_random.bit_generator.state,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        import ale_py

        self.ale.reset_game()
        self.ale.act(self.noop)  # a console that was never played restores wrongly
        self.ale.restoreState(ale_py.ALEState(np.asarray(state["emulator"]).tobytes()))
        self.screens.clear()
        self.screens.extend(np.asarray(screen) for screen in state["screens"])
        self.pictures.clear()
        self.pictures.extend(np.asarray(picture) for picture in state["pictures"])
        self.lives, self.game_over = state["lives"], state["game_over"]
        self.last_action = type(self.noop)(state["last_action"])
        self.load_carried(state["carried"])
        self.np_random.bit_generator.state = state["random"]
