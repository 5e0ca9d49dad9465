"""All settings of one training: six groups, and how they are read and changed by their names."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hogwild.config.groups import (
    EnvSettings,
    ExecutionSettings,
    ObjectiveSettings,
    OptimizerSettings,
    PolicySettings,
    RunSettings,
)

__all__ = [
    "EnvSettings",
    "ExecutionSettings",
    "ObjectiveSettings",
    "OptimizerSettings",
    "PolicySettings",
    "RunSettings",
    "Settings",
    "of_worker",
    "setting_groups",
]
Value = TypeVar("Value")


def of_worker(values: tuple[Value, ...], rank: int) -> Value:
    """Element of a per-worker setting that belongs to worker `rank`.

    >>> of_worker((16, 32, 64), rank=4)
    32
    """
    return values[rank % len(values)]


@dataclass(frozen=True)
class Settings:
    """All settings of one training.

    >>> Settings().update(entropy=0.02).objective.entropy
    (0.02,)
    """

    env: str = ""
    environment: EnvSettings = field(default_factory=EnvSettings)
    policy: PolicySettings = field(default_factory=PolicySettings)
    objective: ObjectiveSettings = field(default_factory=ObjectiveSettings)
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    execution: ExecutionSettings = field(default_factory=ExecutionSettings)
    run: RunSettings = field(default_factory=RunSettings)

    def update(self, **changes: Any) -> "Settings":
        """Copy with the given settings changed, by their flat names; scalars stand for one-element tuples."""
        from hogwild.config.coerce import coerce
        from hogwild.config.lookup import find_setting

        groups: dict[str, dict[str, Any]] = {}
        for name, value in changes.items():
            group, setting = find_setting(name)
            groups.setdefault(group, {})[name] = coerce(name, setting.type, value)
        top = groups.pop("", {})
        changed = {g: dataclasses.replace(getattr(self, g), **values) for g, values in groups.items()}
        return dataclasses.replace(self, **top, **changed)

    def with_group(self, group: str, values: Any) -> "Settings":
        """Copy with one whole group of settings replaced."""
        return dataclasses.replace(self, **{group: values})

    def flat(self) -> dict[str, Any]:
        """All settings by their flat names."""
        result: dict[str, Any] = {"env": self.env}
        for group in setting_groups():
            result |= dataclasses.asdict(getattr(self, group))
        return result


def setting_groups() -> dict[str, type[Any]]:
    """The groups of settings, by the name of their field in `Settings`."""
    return {f.name: type(getattr(Settings(), f.name)) for f in dataclasses.fields(Settings) if f.name != "env"}
