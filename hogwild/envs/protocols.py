"""Named Atari protocols: the rules of play that a published score depends on, in one word.

Scores can only be compared under the same protocol, so it is printed in the header of every run and stored with it.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

from hogwild.config.settings import EnvSettings
from hogwild.config.suggest import unknown


@dataclass(frozen=True)
class Protocol:
    """The rules under which a game is played and learned."""

    name: str
    frame_skip: tuple[int, int]  # frames that one action lasts: drawn from this range, both ends included
    sticky: float  # probability that the emulator repeats the last action instead
    noops: int  # up to so many random no-op frames at the start of a game
    life_loss: bool  # a lost life ends the episode for learning, while the game goes on
    fire_reset: bool  # press fire at the start of a game
    full_actions: bool  # all 18 joystick actions
    frame_limit: int  # frames after which a game is cut off
    reward_clip: float  # rewards are clipped to ± this for learning; 0: never
    about: str = ""

    def describe(self) -> str:
        """The rules in one line.

        >>> print(PROTOCOLS["a3c-2016"].describe())
        a3c-2016: skip 4, sticky 0, no-ops ≤30, life loss ends, fire start, minimal actions, clip ±1, 108,000 frames
        """
        low, high = self.frame_skip
        parts = [
            f"skip {low}" if low == high else f"skip {low}–{high}",
            f"sticky {self.sticky:g}",
            f"no-ops ≤{self.noops}" if self.noops else "no no-ops",
            "life loss ends" if self.life_loss else "whole games",
            "fire start" if self.fire_reset else "no fire start",
            "18 actions" if self.full_actions else "minimal actions",
            f"clip ±{self.reward_clip:g}" if self.reward_clip else "no clip",
            f"{self.frame_limit:,} frames",
        ]
        return f"{self.name}: " + ", ".join(parts)


_A3C = Protocol(
    "a3c-2016",
    (4, 4),
    0.0,
    30,
    True,
    True,
    False,
    108_000,
    1.0,
    "Mnih et al. 2016 and most score tables since",
)
PROTOCOLS = {
    p.name: p
    for p in (
        _A3C,
        dataclasses.replace(
            _A3C, name="dqn-2015", fire_reset=False, frame_limit=18_000, about="Mnih et al. 2015: games of 5 minutes"
        ),
        Protocol(
            "machado-2018", (5, 5), 0.25, 0, False, False, True, 18_000, 1.0,
            "Machado et al. 2018: sticky actions, all 18 actions, whole games of 5 minutes",
        ),
        Protocol(
            "v5", (4, 4), 0.25, 0, False, True, False, 108_000, 1.0,
            "Gymnasium's ALE/…-v5 ids, plus fire start and clipping",
        ),
        dataclasses.replace(
            _A3C, name="gym-v4", frame_skip=(2, 4), about="the old …-v4 ids: each action lasts 2 to 4 frames"
        ),
        dataclasses.replace(
            _A3C, name="gym-v0", frame_skip=(2, 4), sticky=0.25, about="the old …-v0 ids: also sticky actions"
        ),
        Protocol(
            "universe", (4, 4), 0.0, 0, False, False, False, 108_000, 0.0,
            "the starter agent: whole games, nothing clipped",
        ),
        dataclasses.replace(_A3C, name="a3g", frame_limit=40_000, about="A3G: as a3c-2016, 10,000 steps a game"),
        dataclasses.replace(_A3C, name="ocd", fire_reset=False, about="OCD-A3C: as a3c-2016, without fire"),
    )
}  # fmt: skip

# A recipe that reproduces a published agent brings that agent's rules with it.
RECIPE_PROTOCOLS = {"universe": "universe", "a3g": "a3g", "ocd": "ocd", "ocd-pong": "ocd"}


def find_protocol(name: str) -> Protocol:
    """Protocol by name; an unknown one is refused with the nearest."""
    if name not in PROTOCOLS:
        raise unknown("protocol", name, PROTOCOLS)
    return PROTOCOLS[name]


def adjust(protocol: Protocol, settings: EnvSettings) -> Protocol:
    """The protocol with single rules changed by settings; its name then ends in '*'.

    >>> adjust(PROTOCOLS["v5"], EnvSettings(sticky=0.0)).describe()[:25]
    'v5*: skip 4, sticky 0, no'
    """
    skip = None if settings.frame_skip is None else (settings.frame_skip, settings.frame_skip)
    wanted: dict[str, Any] = {
        "frame_skip": skip,
        "sticky": settings.sticky,
        "noops": settings.noops,
        "life_loss": settings.life_loss,
        "fire_reset": settings.fire_reset,
        "full_actions": settings.full_actions,
        "frame_limit": settings.frame_limit,
        "reward_clip": settings.reward_clip,
    }
    changes = {k: v for k, v in wanted.items() if v is not None and v != getattr(protocol, k)}
    if not changes:
        return protocol
    return dataclasses.replace(protocol, name=protocol.name.rstrip("*") + "*", **changes)
