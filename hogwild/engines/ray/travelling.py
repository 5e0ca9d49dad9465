"""What has to be the same on every machine, and the code that travels there."""

import importlib.util
import platform
import re
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from hogwild.config.settings import Settings
from hogwild.own import is_own

PACKAGE = Path(__file__).parent.parent.parent
# What environments are made of: where it has been imported here, it is needed there.
FAMILIES = {
    "ale-py": "ale_py",
    "opencv-python-headless": "cv2",
    "box2d": "Box2D",
    "mujoco": "mujoco",
    "minigrid": "minigrid",
    "envpool": "envpool",
}
# How many parts of a version have to be the same, where it is there at all: parcels are pickled. Hogwild travels.
ALIKE = {"python": 2, "torch": 2, "numpy": 1, "gymnasium": 1}


def versions_here() -> dict[str, str]:
    """Versions of Python and of all packages that workers need.

    >>> {"python", "torch", "gymnasium"} <= set(versions_here())
    True
    """
    found = {"python": platform.python_version()}
    needed = [name for name, module in FAMILIES.items() if module in sys.modules]
    with suppress(PackageNotFoundError):
        needed += [re.split(r"[^\w.-]", line)[0] for line in requires("hogwild") or [] if "extra ==" not in line]
    for name in needed:
        with suppress(PackageNotFoundError):
            found[name] = version(name).partition("+")[0]  # 2.13.0+cpu is how this machine got it
    return found


def differences(there: dict[str, str], here: dict[str, str]) -> str:
    """What is wrong with the versions of another machine, in words; nothing if they are alike enough.

    >>> differences({"torch": "2.6.1"}, {"torch": "2.13.0"})
    'it has torch 2.6.1, and the learner 2.13.0'
    >>> differences({"torch": "2.13.1"}, {"torch": "2.13.0"}), differences({}, {"torch": "2.13.0"})
    ('', '')
    """
    wrong = [
        f"{name} {there[name]}, and the learner {here[name]}"
        for name, parts in ALIKE.items()
        if name in here and name in there and there[name].split(".")[:parts] != here[name].split(".")[:parts]
    ]
    return f"it has {'; '.join(wrong)}" if wrong else ""


def modules_of(settings: Settings) -> list[str]:
    """Modules of the user's own that the settings name.

    >>> modules_of(Settings().update(env="my_module:My-v0", encoder="other:Encoder"))
    ['my_module', 'other']
    """
    named = (
        settings.env,
        settings.policy.encoder,
        settings.policy.policy_class,
        settings.objective.objective,
        settings.run.hooks,
    )
    return sorted({name.partition(":")[0] for name in named if is_own(name)})


def modules_to_send(own_modules: list[str]) -> list[str]:
    """Folders and files that travel: this package, and modules of the user's own that are no installed packages."""
    sent = [str(PACKAGE)]
    for name in own_modules:
        found = importlib.util.find_spec(name.partition(".")[0])
        places = [] if found is None else [*(found.submodule_search_locations or [found.origin or ""])]
        sent += [place for place in places if place and not _is_installed(Path(place))]
    return sent


def _is_installed(origin: Path) -> bool:
    return any(part in ("site-packages", "dist-packages") for part in origin.parts) or origin.is_relative_to(
        Path(sys.base_prefix) / "lib"
    )
