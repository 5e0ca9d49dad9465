"""Named preprocessing recipes: which emulator frames make a picture, and which stages turn it into an observation."""

from collections.abc import Callable
from dataclasses import dataclass

from hogwild.envs import stages
from hogwild.envs.stages import Stage


@dataclass(frozen=True)
class Recipe:
    """How observations are made from emulator frames."""

    name: str
    colour: bool  # pictures in colour, or in the emulator's own grey
    pool: int  # pixelwise maximum over so many of the last frames of a step
    stack: int  # pictures in one observation
    fill: str  # how the stack is filled at the start of a game: 'black' pictures, or 'no-ops', real steps
    first_pair: bool  # one more no-op frame at the start, so that the first picture has a pair to be pooled with
    life_noop: bool  # a lost life is followed by one no-op step
    fire_steps: bool  # the start takes actions 1 and 2 for a step each, instead of fire for one frame
    make_stages: Callable[[str], list[Stage]]  # for a ROM, since crops differ between games


def make_recipe(name: str, picture: tuple[int, int] = (84, 84), frame_stack: int = 4) -> Recipe:
    """Recipe by its name in the settings; height and width of the picture, and the stack, are for the standard one.

    >>> [stage.name for stage in make_recipe("universe").make_stages("pong")]
    ['crop', 'resize 80', 'resize 42', 'mean of colours', 'scale']
    """
    if name == "standard":  # what the C++ emulators do; here for films and for looking at
        return Recipe(
            name,
            False,
            2,
            frame_stack,
            "black",
            False,
            False,
            False,
            lambda _: [stages.resize(picture, "area")],
        )
    if name == "universe":
        return Recipe(name, True, 1, 1, "black", False, False, False, _universe)
    if name == "a3g":
        return Recipe(name, True, 3, 1, "black", False, True, True, _a3g)
    if name == "ocd":
        return Recipe(name, True, 2, 4, "no-ops", True, False, False, _ocd)
    assert name == "ocd-pong", name
    return Recipe(name, True, 1, 4, "no-ops", False, False, False, _ocd_pong)


def _universe(_: str) -> list[Stage]:
    # Two resizes, because one from 160 to 42 would lose single pixels such as the ball.
    return [
        stages.crop(34, 194),
        stages.resize((80, 80), "linear"),
        stages.resize((42, 42), "linear"),
        stages.mean_of_colours(),
        stages.scale_to_one(),
    ]


def _a3g(rom: str) -> list[Stage]:
    return [
        stages.crop_for_game(rom),
        stages.resize((80, 80), "area"),
        stages.grey(0.2989, 0.587, 0.114),
        stages.RunningNormaliser(),
    ]


def _ocd(_: str) -> list[Stage]:
    return [stages.luma_bytes(), stages.resize((84, 84), "linear"), stages.scale_to_one()]


def _ocd_pong(_: str) -> list[Stage]:
    return [
        stages.mean_of_colours(),
        stages.scale_to_one(),
        stages.crop(34, 194),
        stages.every_second_pixel(),
        stages.pad(2),
        stages.binarise(0.4),
    ]
