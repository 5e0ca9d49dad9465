"""Settings by their flat names."""

import dataclasses
from typing import Any

from hogwild.config.settings import Settings, setting_groups
from hogwild.config.suggest import unknown


def find_setting(name: str) -> tuple[str, "dataclasses.Field[Any]"]:
    """Group and field of the setting with a flat name; an unknown name is refused with the nearest known ones."""
    known: dict[str, tuple[str, dataclasses.Field[Any]]] = {"env": ("", dataclasses.fields(Settings)[0])}
    for group, kind in setting_groups().items():
        known |= {f.name: (group, f) for f in dataclasses.fields(kind)}
    if name not in known:
        raise unknown("setting", name, known)
    return known[name]
