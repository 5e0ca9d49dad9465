"""Which environment an id means: Gymnasium ids, ids of the old days, and short names of games."""

import dataclasses
import importlib
import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from hogwild.config.settings import EnvSettings, Settings
from hogwild.config.suggest import unknown
from hogwild.envs.protocols import RECIPE_PROTOCOLS, Protocol, adjust, find_protocol
from hogwild.errors import UsageError

OLD_ATARI_ID = re.compile(
    r"^(?:ale_py:)?(?:ALE/)?(?P<game>[A-Za-z0-9_]+?)(?P<kind>NoFrameskip|Deterministic)?-v(?P<version>[0345])$"
)
TWO_PLAYERS = ("combat", "joust", "maze_craze", "warlords")  # the emulator ends the whole process for these
PROTOCOL_SETTINGS = (
    "protocol",
    "frame_skip",
    "sticky",
    "noops",
    "life_loss",
    "fire_reset",
    "full_actions",
    "frame_limit",
)


@dataclass(frozen=True)
class EnvPlan:
    """What an id and the settings come to."""

    id: str
    rom: str = ""  # name of the Atari ROM; empty for everything else
    protocol: Protocol | None = None
    recipe: str = "none"

    @property
    def is_atari(self) -> bool:
        """Whether this is a game of the Arcade Learning Environment."""
        return bool(self.rom)

    @property
    def game(self) -> str:
        """What is played, under whatever id."""
        return self.rom or self.id

    def of_whole_games(self) -> "EnvPlan":
        """The same environment where a lost life does not end anything."""
        if self.protocol is None:
            return self
        return dataclasses.replace(self, protocol=dataclasses.replace(self.protocol, life_loss=False))

    def reward_clip(self, settings: EnvSettings, otherwise: float = 0.0) -> float:
        """Rewards are clipped to ± this for learning, `otherwise` where nobody says; 0: never."""
        clip = self.protocol.reward_clip if self.protocol else settings.reward_clip or 0.0
        return clip or (otherwise if settings.reward_clip is None else 0.0)

    def as_learned(self, rewards: np.ndarray, settings: EnvSettings, deviation: float = 1.0) -> np.ndarray:
        """Raw rewards as they are learned from: scaled, divided by the deviation of returns if they are normalised,
        then clipped, and never below the floor."""
        clip = self.reward_clip(settings) or np.inf
        floor = -np.inf if settings.reward_floor is None else settings.reward_floor
        return np.clip(rewards * settings.reward_scale / deviation, max(-clip, floor), clip)

    @property
    def frames_per_step(self) -> float:
        """Emulator frames that one step lasts, on average."""
        return sum(self.protocol.frame_skip) / 2 if self.protocol else 1.0


def plan_env(settings: Settings) -> EnvPlan:
    """Find out what to build; anything unknown or contradictory is refused here, before anything starts."""
    name = settings.env
    if not name:
        raise UsageError("Which environment? For example: hogwild train pong")
    found = OLD_ATARI_ID.match(name)
    rom = _find_rom(found["game"] if found else name, looks_atari=name.startswith(("ALE/", "ale_py:")))
    if rom:
        return _plan_atari(settings, rom, found)
    if ":" not in name:
        _require_registered(name)
    given = settings.environment
    refused = [s for s in PROTOCOL_SETTINGS if getattr(given, s) not in (None, "auto")]
    if given.preprocess not in ("auto", "none"):
        refused.insert(0, "preprocess")
    if refused:
        flags = ", ".join("--" + s.replace("_", "-") for s in refused)
        raise UsageError(f"{flags}: only for Atari games, and '{name}' is none.")
    return EnvPlan(name)


def _plan_atari(settings: Settings, rom: str, found: "re.Match[str] | None") -> EnvPlan:
    given = settings.environment
    recipe = "standard" if given.preprocess == "auto" else given.preprocess
    if recipe == "none":
        raise UsageError("Atari games need a preprocessing recipe: --preprocess standard (or universe, a3g, ocd).")
    implied = _protocol_of_id(found) if found else find_protocol("a3c-2016")
    keeps_id = given.protocol == "auto" and recipe not in RECIPE_PROTOCOLS
    if found and keeps_id and given.frame_skip is not None and found["kind"] != "NoFrameskip":
        low, high = implied.frame_skip
        if (given.frame_skip, given.frame_skip) != (low, high):
            own = f"{low}" if low == high else f"{low} to {high}"
            raise UsageError(
                f"'{settings.env}' already repeats each action for {own} frames, and --frame-skip {given.frame_skip} "
                f"on top would be a doubled frame-skip. Train {camel_case(rom)}NoFrameskip-v4 to choose the skip."
            )
    if given.protocol != "auto":
        implied = find_protocol(given.protocol)
    elif recipe in RECIPE_PROTOCOLS:
        implied = find_protocol(RECIPE_PROTOCOLS[recipe])
    return EnvPlan(settings.env, rom, adjust(implied, given), recipe)


def _protocol_of_id(found: "re.Match[str]") -> Protocol:
    version, kind = found["version"], found["kind"]
    if version == "5":
        return find_protocol("v5")
    if kind is None:
        return find_protocol("gym-v0" if version == "0" else "gym-v4")
    protocol = find_protocol("a3c-2016")
    return dataclasses.replace(protocol, name="a3c-2016*", sticky=0.25) if version == "0" else protocol


@cache
def atari_roms() -> dict[str, str]:
    """ROM names by their bare letters and digits; empty if the emulator is not installed."""
    try:
        roms = importlib.import_module("ale_py.roms")
    except ImportError:
        return {}
    return {_bare(rom): rom for rom in roms.get_all_rom_ids() if rom not in TWO_PLAYERS}


def _find_rom(game: str, looks_atari: bool) -> str:
    roms = atari_roms()
    if not roms and (looks_atari or _bare(game) in ("pong", "breakout", "qbert", "spaceinvaders", "seaquest")):
        raise UsageError(f"'{game}' is an Atari game, and the emulator is missing: pip install 'hogwild[atari]'")
    if looks_atari and _bare(game) not in roms:
        raise unknown("Atari game", game, roms.values())
    return roms.get(_bare(game), "")


def _require_registered(name: str) -> None:
    import gymnasium

    import hogwild.envs.probes  # noqa: F401  (registers the probe environments)

    if name not in gymnasium.registry:
        known = [
            *gymnasium.registry,
            *atari_roms().values(),
            *(f"ALE/{camel_case(r)}-v5" for r in atari_roms().values()),
        ]
        raise unknown("environment", name, known, hint="An environment of your own: module:Id-v0")


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def camel_case(rom: str) -> str:
    """ROM name as Gymnasium writes it.

    >>> camel_case("space_invaders")
    'SpaceInvaders'
    """
    return "".join(part.capitalize() for part in rom.split("_"))
