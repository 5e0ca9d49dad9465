"""What is wrong with an environment, in words: `hogwild check`.

Checks are made in their order; what makes the following ones meaningless ends them.
"""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from hogwild.alarm import Alarm
from hogwild.config.settings import Settings
from hogwild.envs.env_state import Unsavable, save_env
from hogwild.envs.foreign import EXTRAS, close_all
from hogwild.envs.ids import EnvPlan, plan_env
from hogwild.envs.layout import Layout, read_layout
from hogwild.envs.make import make_one, says_it_can_be_drawn
from hogwild.envs.observations import MASK, is_text
from hogwild.envs.random_play import random_actions
from hogwild.errors import HogwildError
from hogwild.misfits import misfit, misfit_of_step
from hogwild.resolve import resolve

STEPS, SECONDS = 2000, 15.0  # that are played at most
REPLAYED = 200
HANGS = 60.0  # seconds after which an environment is not waited for any more
SLOW = 1e-3  # seconds of a step: the network takes a tenth of that
LARGE = 100.0  # return: larger ones drown what is learned about actions
Env = gymnasium.Env[Any, Any]


@dataclass(frozen=True)
class Remark:
    """Something about an environment."""

    level: Literal["wrong", "doubtful", "fine"]
    what: str
    advice: str = ""


class _Wrong(Exception):
    """Something is so wrong that what follows would make no sense."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(what)
        self.remark = Remark("wrong", what, advice)


def check(settings: Settings) -> Iterator[Remark]:
    """Everything that there is to say about an environment."""
    plan = plan_env(settings)
    try:
        started = time.perf_counter()
        with _failing("cannot be made", "see that its module registers the id, and that it needs no arguments"):
            env = make_one(plan, settings.environment, is_checked=False)
        yield Remark("fine", f"was made in {time.perf_counter() - started:.2f} s")
        try:
            yield from _check_spaces(plan, env)
            yield from _check_play(plan, env)
            yield from _check_seeds(plan, settings)
            yield _check_saving(env)
            yield _check_drawing(plan, settings, env)
        finally:
            close_all([env])
        _check_training(settings)
    except _Wrong as wrong:
        yield wrong.remark


@contextlib.contextmanager
def _failing(what: str, advice: str, calls: int = 1) -> Iterator[None]:
    """Whatever an environment raises is what is wrong with it, and also that it does not come back."""
    try:
        with _not_for_ever(calls):
            yield
    except _Wrong:
        raise
    except (Exception, SystemExit) as error:
        needs = isinstance(error, ImportError | gymnasium.error.DependencyNotInstalled)
        extra = next((extra for word, extra in EXTRAS.items() if word in str(error).lower()), "")
        advice = f"pip install 'hogwild[{extra}]'" if needs and extra else "install what it needs" if needs else advice
        raise _Wrong(f"{what}: {type(error).__name__}: {error}", advice) from error


def _not_for_ever(calls: int = 1) -> Alarm:
    return Alarm(calls * HANGS, f"it did not come back within {calls * HANGS:g} s")


def _check_spaces(plan: EnvPlan, env: Env) -> Iterator[Remark]:
    for name in ("observation_space", "action_space"):
        if not isinstance(getattr(env, name, None), spaces.Space):
            raise _Wrong(f"has no {name}", f"set self.{name} in its constructor, such as gymnasium.spaces.Box(…)")
    observation, _ = _reset(env, seed=0)
    trouble = misfit(env.observation_space, observation)
    if trouble:
        raise _Wrong(f"what reset() answers does not fit the observation space: {trouble}", "mend one of them")
    layout = _Player(plan, env).layout
    seen, done = describe_observations(layout), layout.spec.describe_actions()
    yield Remark("fine", f"a policy sees {seen}, and acts with {done}")
    if layout.spec.unread:
        yield Remark("doubtful", f"{', '.join(layout.spec.unread)}: text, which a policy does not read", "encode it")
    for space in _boxes(env.action_space):
        if not np.isfinite(space.low).all() or not np.isfinite(space.high).all():
            yield Remark("doubtful", f"its actions {space} have no bounds", "give it some: -1 and 1 then mean these")


def _reset(env: Env, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
    with _failing("fails in reset", "run env.reset(seed=0) by itself"):
        answer: Any = env.reset(seed=seed)
    if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], dict)):
        raise _Wrong("reset() does not answer (observation, info)", "return observation, {}")
    return answer


def describe_observations(layout: Layout) -> str:
    """What a policy gets to see, in words."""
    words = []
    for part in layout.spec.parts:
        name = f"{part.name}: " if part.name else ""
        kind = f"a picture of {'×'.join(map(str, part.shape))}" if part.is_image else f"{part.size} numbers"
        words.append(name + kind)
    return ", ".join(words)


def _boxes(space: spaces.Space[Any]) -> list[spaces.Box]:
    if isinstance(space, spaces.Dict | spaces.Tuple):
        inner = space.values() if isinstance(space, spaces.Dict) else space
        return [box for part in inner for box in _boxes(part)]
    return [space] if isinstance(space, spaces.Box) else []


class _Player:
    """Plays at random, through the same layout as a policy."""

    def __init__(self, plan: EnvPlan, env: Env) -> None:
        with _failing("fails when it is looked at once more", "run env.reset(seed=0) twice by itself"):
            try:
                self.layout = read_layout(plan.id, env)
            except HogwildError as error:
                raise _Wrong(str(error), "change the space, or wrap the environment") from None
        self.random = np.random.default_rng(0)

    def act(self, observation: Any, info: dict[str, Any]) -> Any:
        """An action of the space that is allowed now."""
        with _failing("what it shows cannot be read", "mend the observation or its action mask"):
            seen, _ = self.layout.observations.read(observation, info.get(MASK))
        size = self.layout.spec.mask_size
        if size and not seen.reshape(-1)[-size:].any():
            raise _Wrong("its action mask forbids everything", "allow one action at least, or end the episode")
        return self.layout.actions(random_actions(self.layout.spec, seen.reshape(1, -1), self.random))[0]


def _check_play(plan: EnvPlan, env: Env) -> Iterator[Remark]:
    player = _Player(plan, env)
    observation, info = _reset(env, seed=0)
    told_late = False
    returns, lengths, score, length, seconds, number = [], [], 0.0, 0, 0.0, 0
    while number < STEPS and seconds < SECONDS:
        number += 1
        action = player.act(observation, info)
        with _failing(f"fails in step {number}", f"the action was {action!r}"):
            started = time.perf_counter()
            answer = env.step(action)
            seconds += time.perf_counter() - started
        trouble = misfit_of_step(env.observation_space, answer)
        if trouble:
            raise _Wrong(f"step {number}: {trouble[0]}", trouble[1])
        observation, reward, terminated, truncated, info = answer
        score, length = score + float(reward), length + 1
        told_late |= MASK in info and not player.layout.spec.mask_size
        if terminated or truncated:
            returns.append(score)
            lengths.append(length)
            score, length = 0.0, 0
            observation, info = _reset(env)
    if told_late:
        yield Remark("doubtful", f"step() tells an {MASK}, and reset() does not: it is not used", "tell it in both")
    yield from _judge_episodes(returns, lengths, number)
    yield _judge_speed(seconds / number)


def _judge_episodes(returns: list[float], lengths: list[int], steps: int) -> Iterator[Remark]:
    if not returns:
        advice = "give it a time limit: gymnasium.register(…, max_episode_steps=1000)"
        yield Remark("doubtful", f"no episode ended in {steps:,} random steps", advice)
        return
    mean, length = float(np.mean(returns)), float(np.mean(lengths))
    yield Remark(
        "fine", f"{len(returns)} episodes with random actions: return {mean:.2f}, {length:.0f} steps on average"
    )
    largest = max(returns, key=abs)
    if abs(largest) > LARGE:
        yield Remark("doubtful", f"returns reach {largest:,.0f}", "--normalise-rewards, or --reward-scale")
    if len(returns) > 1 and len(set(returns)) == 1 and len(set(lengths)) == 1:
        yield Remark("doubtful", "all of these episodes were alike", "see whether actions and seeds have any effect")


def _judge_speed(seconds: float) -> Remark:
    speed = f"a step takes {seconds * 1e6:,.0f} µs: at most {1 / seconds:,.0f} steps a second on each core"
    cost = f"{1e6 * seconds / 60:,.1f} minutes of one core for a million"
    if seconds > SLOW:
        return Remark("doubtful", f"{speed}, {cost}", "find out where its time goes: training cannot be faster")
    return Remark("fine", f"{speed}, {cost}")


def _check_seeds(plan: EnvPlan, settings: Settings) -> Iterator[Remark]:
    with _failing("fails when it is made and played anew", "see that two of it can be there at once", calls=3):
        first, again, other = (_trace(plan, settings, seed) for seed in (1, 1, 2))
    if not _alike(first[:1], again[:1]):
        advice = "in reset, call super().reset(seed=seed) and draw only from self.np_random"
        yield Remark("wrong", "the same seed gives another first observation", advice)
    elif not _alike(first, again):
        advice = "draw only from self.np_random; else no run can be repeated"
        yield Remark("doubtful", f"the same seed and the same {REPLAYED} actions lead elsewhere", advice)
    elif _alike(first, other):
        yield Remark("doubtful", "another seed changes nothing", "fine if nothing in it is random")
    else:
        yield Remark("fine", "seeds are respected: the same one repeats an episode exactly, another does not")


def _trace(plan: EnvPlan, settings: Settings, seed: int) -> list[np.ndarray]:
    """All numbers of the observations of a few steps with actions that do not hang on the seed."""
    with contextlib.closing(make_one(plan, settings.environment, is_checked=False)) as env:
        player = _Player(plan, env)
        observation, info = env.reset(seed=seed)
        found, began = [_flat(env.observation_space, observation)], time.perf_counter()
        while len(found) <= REPLAYED and time.perf_counter() - began < SECONDS / 3:
            observation, _, terminated, truncated, info = env.step(player.act(observation, info))
            if terminated or truncated:
                observation, info = env.reset()
            found.append(_flat(env.observation_space, observation))
        return found


def _flat(space: spaces.Space[Any], observation: Any) -> np.ndarray:
    if isinstance(space, spaces.Dict):
        return np.concatenate([_flat(part, observation[key]) for key, part in space.items()])
    if isinstance(space, spaces.Tuple):
        return np.concatenate([_flat(part, seen) for part, seen in zip(space, observation, strict=True)])
    if is_text(space):
        return np.zeros(0)
    return np.asarray(observation, dtype=np.float64).ravel()


def _alike(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=False))


def _check_saving(env: Env) -> Remark:
    try:
        save_env(env)
    except Unsavable as error:
        advice = "offer save_state() and load_state(state), if a resumed run is to go on in the middle of episodes"
        return Remark("fine", f"its state cannot be saved ({error}): a resumed run begins with new episodes", advice)
    return Remark("fine", "its state can be saved: a resumed run goes on exactly where it was")


def _check_drawing(plan: EnvPlan, settings: Settings, env: Env) -> Remark:
    """Whether it can be drawn: it is tried, since what an environment says of itself may not be so."""
    advice = "put 'rgb_array' into metadata['render_modes'], take render_mode in the constructor, and write render()"
    if not (plan.is_atari or says_it_can_be_drawn(env)):
        return Remark("fine", "it cannot be drawn: it can be trained, but not filmed or played", advice)
    if not plan.is_atari:
        try:
            with (
                _not_for_ever(),
                contextlib.closing(make_one(plan, settings.environment, render_mode="rgb_array")) as drawn,
            ):
                drawn.reset(seed=0)
                picture: Any = drawn.render()
            if np.ndim(picture) != 3:
                raise TypeError(f"render() answers {type(picture).__name__}, not an array [rows, columns, colours]")
        except (Exception, SystemExit) as error:
            what = f"it says that it can be drawn, and fails: {type(error).__name__}: {error}"
            return Remark("doubtful", f"{what}; it can be trained, but not filmed or played", advice)
    return Remark("fine", "it can be drawn: films, the spectator and `hogwild play` work")


def _check_training(settings: Settings) -> None:
    """Whether a training of it would start."""
    try:
        resolve(settings)
    except HogwildError as error:
        raise _Wrong(f"hogwild train refuses it: {error}", "see what it says") from None
