"""Build the environments that a plan describes."""

import os
import tempfile
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

import hogwild.envs.probes  # noqa: F401  (registers the probe environments)
from hogwild.alarm import BUILDING, Alarm, late_words, unbuilt_words
from hogwild.config.settings import EnvSettings
from hogwild.envs.atari import AtariBatch
from hogwild.envs.atari_game import AtariGame
from hogwild.envs.batch import EnvBatch
from hogwild.envs.envpool_batch import EnvPoolBatch
from hogwild.envs.foreign import close_all, guarded
from hogwild.envs.gymnasium_batch import GymnasiumBatch
from hogwild.envs.ids import EnvPlan
from hogwild.envs.layout import Layout, read_layout
from hogwild.envs.recipes import make_recipe

ANY_TIME = 0.0

# For environments that draw with pygame; what it prints is of no use.
WITHOUT_A_WINDOW = {
    "SDL_VIDEODRIVER": "dummy",
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",
    "XDG_RUNTIME_DIR": tempfile.gettempdir(),
}


def make_batch(
    plan: EnvPlan, settings: EnvSettings, num_envs: int, threads: int = 1, can_be_saved: bool = False
) -> EnvBatch:
    """A batch of environments: Atari stepped in C++ where that is possible, others by the backend that was chosen.
    Games in C++ cannot be saved in the middle; if they are to be, they are played in Python."""
    if plan.is_atari and steps_in_cpp(plan) and not can_be_saved:
        assert plan.protocol is not None
        return AtariBatch(plan.rom, plan.protocol, num_envs, settings.picture, settings.frame_stack, threads)
    if settings.backend == "envpool":
        layout = layout_of(plan, settings, ANY_TIME)  # who makes a batch is watched
        return EnvPoolBatch(plan.id, layout, num_envs, threads, _registered(plan).max_episode_steps)
    rescale = settings.action_bounds == "rescale"
    return GymnasiumBatch(plan.id, lambda: make_one(plan, settings), num_envs, rescale)


def steps_in_cpp(plan: EnvPlan) -> bool:
    """The C++ batch knows the standard recipe, and one fixed frame-skip."""
    assert plan.protocol is not None
    return plan.recipe == "standard" and plan.protocol.frame_skip[0] == plan.protocol.frame_skip[1]


def make_one(
    plan: EnvPlan,
    settings: EnvSettings,
    on_frame: Callable[[np.ndarray], None] | None = None,
    render_mode: str | None = None,
    is_checked: bool = True,
) -> gymnasium.Env[Any, Any]:
    """One environment; for Atari the Python game, which can be filmed and saved. Gymnasium looks at the first steps of
    others and prints what it does not like, unless it is not to be `is_checked`."""
    if plan.is_atari:
        assert plan.protocol is not None
        recipe = make_recipe(plan.recipe, settings.picture, settings.frame_stack)
        return AtariGame(plan.rom, plan.protocol, recipe, on_frame)
    if render_mode is None:
        return gymnasium.make(plan.id, disable_env_checker=not is_checked)  # not every one knows the word render_mode
    for variable, value in WITHOUT_A_WINDOW.items():
        os.environ.setdefault(variable, value)
    return gymnasium.make(plan.id, render_mode=render_mode)


def can_be_drawn(plan: EnvPlan, settings: EnvSettings, seconds: float) -> bool:
    """Whether there are pictures of an environment, to film it or to look on; `seconds` are --env-timeout."""
    if plan.is_atari:
        return True
    env = _first(plan, settings, seconds)
    try:
        return says_it_can_be_drawn(env)
    finally:
        close_all([env])


def says_it_can_be_drawn(env: gymnasium.Env[Any, Any]) -> bool:
    """What an environment says of itself."""
    return "rgb_array" in (env.metadata or {}).get("render_modes", [])


def layout_of(plan: EnvPlan, settings: EnvSettings, seconds: float) -> Layout:
    """How the environment lays out what it shows, found out by making one; `seconds` are --env-timeout."""
    env = _first(plan, settings, seconds)
    try:
        with Alarm(seconds, f"it {late_words(seconds)}"):
            found: Layout = guarded(
                plan.id, "reset", lambda: read_layout(plan.id, env, settings.action_bounds == "rescale")
            )
        return found
    finally:
        close_all([env])


def _first(plan: EnvPlan, settings: EnvSettings, seconds: float) -> gymnasium.Env[Any, Any]:
    """One environment, made where nobody could kill who waits for it."""
    with Alarm(BUILDING * seconds, f"it {unbuilt_words(seconds)}"):
        env: gymnasium.Env[Any, Any] = guarded(plan.id, "be made", lambda: make_one(plan, settings))
    return env


def solved_at(plan: EnvPlan) -> float | None:
    """The mean return at which an environment counts as solved, where there is an agreed one."""
    if plan.is_atari:
        return {"pong": 18.5, "freeway": 30.0, "boxing": 95.0}.get(plan.rom)
    threshold = _registered(plan).reward_threshold
    return float(threshold) if threshold is not None else None


def _registered(plan: EnvPlan) -> EnvSpec:
    """What an environment was registered with; one of its kind has been made before, so that its module is loaded."""
    return gymnasium.spec(plan.id.rpartition(":")[2])
