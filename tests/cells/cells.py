"""The table of what can be combined, for the tests that every combination has to pass."""

from typing import Any, NamedTuple

import pytest

from hogwild.resolve import layer, resolve
from hogwild.session import Session

OBJECTIVES = ("a3c", "ppo", "vtrace")
EXCHANGES = ("weights", "gradients", "trajectories", "barrier")
ENGINES = ("inline", "threads", "processes")
REFUSED = {("ppo", "gradients")}


class Cell(NamedTuple):
    """One combination."""

    objective: str
    exchange: str
    engine: str

    def __str__(self) -> str:
        return f"{self.objective}-{self.exchange}-{self.engine}"

    def settings(self) -> dict[str, Any]:
        """As settings."""
        return dict(self._asdict())


CELLS = [Cell(o, x, e) for e in ENGINES for o in OBJECTIVES for x in EXCHANGES if (o, x) not in REFUSED]
every_cell = pytest.mark.parametrize("cell", CELLS, ids=str)
every_inline_cell = pytest.mark.parametrize("cell", [c for c in CELLS if c.engine == "inline"], ids=str)
every_live_cell = pytest.mark.parametrize("cell", [c for c in CELLS if c.engine != "inline"], ids=str)
SMALL: dict[str, Any] = {"workers": 2, "envs": 2, "rollout_steps": 4, "minutes": 5.0}


def make_session(cell: Cell, env: str = "CartPole-v1", **changes: Any) -> Session:
    """A session of this cell, ready to start."""
    return Session(resolve(layer(env, **{**SMALL, **cell.settings(), **changes})))
