"""Any Gymnasium environment, in batches."""

import math
import traceback
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from hogwild.envs.atari_game import AtariGame
from hogwild.envs.batch import LEFT_SPACE, EnvBatch, Fault, Step
from hogwild.envs.env_state import Unsavable, load_env, save_env
from hogwild.envs.foreign import WHERE, close_all, guarded
from hogwild.envs.layout import Layout, first_answer, read_layout
from hogwild.envs.observations import MASK
from hogwild.errors import NothingButFaults, UsageError


class LateMask(Exception):
    """A mask where there was none at first."""


class GymnasiumBatch(EnvBatch):
    """N copies of one environment, stepped one after the other in this process.

    A plain loop: what Gymnasium's own vectors do beside it (copying, merging infos) takes longer than a step of
    CartPole. What `step` answers is overwritten by the next one.

    An environment that raises, or answers what cannot be learned from, is made anew, and its episode is lost. Now and
    then an episode begins with a new seed, so that what has happened since can be played again by itself.
    """

    def __init__(
        self, name: str, make: Callable[[], gymnasium.Env[Any, Any]], num_envs: int, rescale_actions: bool = True
    ) -> None:
        self.name = name
        self.make = make
        self.num_envs = num_envs
        self.envs: list[gymnasium.Env[Any, Any]] = guarded(name, "be made", lambda: [make() for _ in range(num_envs)])
        self.layout: Layout = guarded(name, "reset", lambda: read_layout(name, self.envs[0], rescale_actions))
        self.spec = self.layout.spec
        self.collect = self.layout.observations.collect
        self.is_masked = self.spec.is_masked
        self.awaits_no_mask = not self.is_masked and any(part.kind == "choice" for part in self.spec.actions)
        self.has_lives = getattr(self.envs[0].unwrapped, "has_lives", False)
        self.seen = self.layout.observations.empty(num_envs)
        self.spare = self.seen.copy()  # what is seen next; then they change places
        self.are_decimals = self.seen.dtype.kind == "f"
        # Loading a game anew for a seed would take too long.
        self.seeds = None if self.has_lives else np.zeros(num_envs, dtype=np.int64)
        self.since = np.zeros(num_envs, dtype=np.int64)  # steps that each has made since its seed
        self.lost_in_a_row = 0
        self.bounds = bounds_of(self.envs[0]) if self.are_decimals and self.layout.observations.is_array else None

    def reset(self, seeds: list[int]) -> np.ndarray:
        """First observations."""

        def reset_all() -> None:
            for index, (env, seed) in enumerate(zip(self.envs, seeds, strict=True)):
                self.seen[index] = self._sound(self._reset(env, seed=int(seed)))

        if self.seeds is not None:
            self.seeds[:] = seeds
        self.since[:] = 0
        guarded(self.name, "reset", reset_all)
        return self.layout.observations.arrange(self.seen)

    def step(self, actions: np.ndarray) -> Step:
        """Take one action in every environment."""
        self.since += 1
        rewards = np.zeros(self.num_envs)
        terminated, truncated, game_over = np.zeros((3, self.num_envs), dtype=bool)
        seen: list[Any] = []
        last: dict[int, Any] = {}  # real last observations
        errors: dict[int, BaseException] = {}
        for index, (env, action) in enumerate(zip(self.envs, self.layout.actions(actions), strict=True)):
            try:
                observation, rewards[index], ended, cut, info = env.step(action)
                if self.awaits_no_mask and info and MASK in info:
                    raise LateMask
                if ended or cut:
                    terminated[index], truncated[index] = ended, cut and not ended
                    game_over[index] = info["game_over"] if self.has_lives else True
                    last[index] = np.array(self.collect(observation, info))  # a copy: some write into it at a reset
                    seen.append(self._begin(index))
                else:
                    seen.append(self._playable(self.collect(observation, info)))
            except LateMask:
                raise UsageError(f"Environment '{self.name}' {LATE_MASK}") from None
            except (Exception, SystemExit) as error:
                errors[index] = error
                seen.append(self.seen[index])
        if not self._makes_sense(seen, last, rewards):
            errors |= self._nonsense(seen, last, rewards, skipped=errors)
        for index in errors:
            rewards[index], terminated[index], truncated[index], game_over[index] = 0.0, False, True, False
            last[index], seen[index] = self.seen[index].copy(), self._renew(index)
        faults = tuple(self._fault(index, error) for index, error in errors.items())
        if faults:
            np.stack(seen, out=self.spare)
        self._count(faults, game_over)
        faults += self._outside()
        final = self._final(last)
        self.seen, self.spare = self.spare, self.seen
        return Step(
            self.layout.observations.arrange(self.seen), rewards, terminated, truncated, game_over, final, faults
        )

    def _final(self, last: dict[int, Any]) -> np.ndarray | None:
        if not last:
            return None
        final = self.seen.copy()
        for index, observation in last.items():
            final[index] = observation
        return self.layout.observations.arrange(final)

    def _makes_sense(self, seen: list[Any], last: dict[int, Any], rewards: np.ndarray) -> bool:
        """Whether all of it can be learned from; observations are laid out on the way."""
        try:
            np.stack(seen, out=self.spare)
            ends = [np.stack([self.seen[0], *last.values()])] if last else []  # all of one shape, or it is refused
            arrays = [rewards, *([self.spare, *ends] if self.are_decimals else [])]
            return all(np.isfinite(array).all() for array in arrays)
        except (ValueError, TypeError):
            return False

    def _nonsense(
        self, seen: list[Any], last: dict[int, Any], rewards: np.ndarray, skipped: dict[int, BaseException]
    ) -> dict[int, BaseException]:
        """What would spoil everything that it touches, by environment."""
        found: dict[int, BaseException] = {}
        for index in set(range(self.num_envs)) - set(skipped):
            for observation in (seen[index], *([last[index]] if index in last else [])):
                if complaint := self._complaint(observation):
                    found[index] = ValueError(f"the observation {complaint}")
            if not math.isfinite(rewards[index]):
                found[index] = ValueError(f"the reward is {rewards[index]}")
        return found

    def _complaint(self, observation: Any) -> str:
        """What is wrong with an observation, in words; empty: nothing."""
        shape, kind = self.seen.shape[1:], self.seen.dtype
        try:
            given = np.asarray(observation)
        except ValueError:
            return "is no array: its rows have different lengths"
        if given.dtype.kind not in "biuf":
            return f"holds {given.dtype.name}, not numbers"
        if given.shape != shape:
            return f"has the shape {given.shape}, not {shape} as its space says"
        if not np.can_cast(given.dtype, kind, "same_kind"):
            return f"holds {given.dtype.name}, not {kind.name} as its space says"
        return f"has {NO_NUMBER}" if self.are_decimals and not np.isfinite(given).all() else ""

    def _reset(self, env: gymnasium.Env[Any, Any], **words: Any) -> Any:
        """The first observation of an episode, as it is collected."""
        return self._playable(self.collect(*first_answer(env, **words)))

    def _playable(self, collected: Any) -> Any:
        """An observation after which an action is to follow: one at least has to be allowed."""
        if self.is_masked and not self.layout.observations.allows_any(collected):
            raise ValueError("its action mask allows nothing, and the episode goes on")
        return collected

    def _sound(self, first: Any) -> Any:
        """A first observation, which is refused if it cannot be learned from."""
        if complaint := self._complaint(first):
            raise ValueError(f"its first observation {complaint}")
        return first

    def _outside(self) -> tuple[Fault, ...]:
        """Whether an observation is outside its space; that is said once, since it can still be learned from."""
        if self.bounds is None:
            return ()
        low, high = self.bounds
        outside = (self.spare < low) | (self.spare > high)
        if not outside.any():
            return ()
        self.bounds = None
        index, *place = (int(number) for number in np.argwhere(outside)[0])
        value, least, most = (array[tuple(place)] for array in (self.spare[index], low, high))
        where = f"observation{place}".replace(" ", "")
        what = f"Environment '{self.name}' {LEFT_SPACE}: {where} is {value:g}, not {least:g} to {most:g}"
        return (Fault(index, what, is_harmless=True),)

    def _begin(self, index: int) -> Any:
        """The first observation of an environment's next episode."""
        if self.seeds is None or self.since[index] < SEED_STEPS:
            return self._reset(self.envs[index])
        return self._begin_with_seed(index)

    def _begin_with_seed(self, index: int) -> Any:
        assert self.seeds is not None
        self.seeds[index] = seed = next_seed(int(self.seeds[index]))
        self.since[index] = 0
        return self._reset(self.envs[index], seed=seed)

    def _fault(self, index: int, error: BaseException) -> Fault:
        hint = f"; step answers {FIVE}" if "to unpack (expected 5" in str(error) else ""
        what = f"Environment '{self.name}' {WHERE['step']}: {type(error).__name__}: {error}{hint}"
        return Fault(index, what, "".join(traceback.format_exception(error)))

    def _renew(self, index: int) -> Any:
        """The first observation of a new environment in the place of a broken one."""
        close_all([self.envs[index]])

        def make_and_begin() -> Any:
            self.envs[index] = self.make()
            has_seeds = self.seeds is not None
            return self._sound(self._begin_with_seed(index) if has_seeds else self._reset(self.envs[index], seed=index))

        return guarded(self.name, "reset", make_and_begin)

    def _count(self, faults: tuple[Fault, ...], game_over: np.ndarray) -> None:
        """Give up on environments that lose every episode."""
        if game_over.any():
            self.lost_in_a_row = 0
        elif faults:
            self.lost_in_a_row += len(faults)
            if self.lost_in_a_row > MOST_LOST:
                raise NothingButFaults(f"{faults[-1].what} ({self.lost_in_a_row} episodes in a row were lost.)")

    def state(self) -> dict[str, Any] | None:
        """State of every environment, or None if one cannot be saved."""
        try:
            seeds = {} if self.seeds is None else {"seeds": self.seeds.copy(), "since": self.since.copy()}
            return {"envs": [save_env(env) for env in self.envs]} | seeds
        except Unsavable:
            return None

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        for env, saved in zip(self.envs, state["envs"], strict=True):
            load_env(env, saved)
        if self.seeds is not None and "seeds" in state:
            self.seeds[:] = state["seeds"]
            self.since[:] = state.get("since", 0)

    def replay(self, index: int, seed: int, actions: list[Any]) -> None:
        """Begin again with a seed, and do what was done since."""
        assert self.seeds is not None
        self.seeds[index], self.since[index] = seed, len(actions)
        env = self.envs[index]
        collected = self.collect(*env.reset(seed=seed))
        for action in actions:
            observation, _, ended, cut, info = env.step(self.layout.actions(np.asarray(action)[None])[0])
            collected = self.collect(*env.reset()) if ended or cut else self.collect(observation, info)
        self.seen[index] = collected

    def carried(self) -> list[dict[str, float]]:
        """What preprocessing has learned, for each environment."""
        games = [env.unwrapped for env in self.envs]
        learned = [game.carried() for game in games if isinstance(game, AtariGame)]
        return learned if any(learned) else []

    def load_carried(self, carried: list[dict[str, float]]) -> None:
        """Take over what preprocessing had learned; with fewer entries than environments they go round."""
        for index, env in enumerate(self.envs):
            if carried and isinstance(env.unwrapped, AtariGame):
                env.unwrapped.load_carried(carried[index % len(carried)])

    def close(self) -> None:
        """Close all environments."""
        close_all(self.envs)


MOST_LOST = 20  # episodes in a row
SEED_STEPS = 200  # after which the next episode begins with a seed: taking one costs more than a short episode
LATE_MASK = (
    "tells an `action_mask` with a step, but not with its first reset. Masks are respected if reset tells one, too: "
    "None if everything is allowed."
)
FIVE = "(observation, reward, terminated, truncated, info), as Gymnasium has it since version 0.26"
NO_NUMBER = "numbers that are infinite or none (NaN)"


def bounds_of(env: gymnasium.Env[Any, Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """Smallest and largest numbers of observations that are arrays. Gymnasium's own environments are as they are: some
    leave their spaces, and everybody knows."""
    space = env.observation_space
    is_known = type(env.unwrapped).__module__.startswith("gymnasium.")
    if is_known or not isinstance(space, gymnasium.spaces.Box) or not np.isfinite([space.low, space.high]).any():
        return None
    return space.low, space.high


def next_seed(seed: int) -> int:
    """The seed that an environment takes after `seed`.

    >>> next_seed(0) != next_seed(1)
    True
    """
    return int(np.random.SeedSequence((seed, 1)).generate_state(1)[0] >> 1)
