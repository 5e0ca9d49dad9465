"""Every encoder with every memory, kind of action, shape of observation and objective learns a probe of its own."""

import itertools
from pathlib import Path
from typing import Any

import pytest

import hogwild
from tests.spaces_probe import ACTIONS, PICTURES, SHAPES, probe_id

MEMORIES, OBJECTIVES = ("none", "gru", "lstm"), ("a3c", "ppo", "vtrace")
MATRIX = list(itertools.product(PICTURES, MEMORIES, ACTIONS, SHAPES, OBJECTIVES))
ENOUGH = 0.9  # who sees one coin only gets 0.75
PAGE = Path(__file__).parents[1] / "docs" / "matrix.md"


@pytest.mark.learn
@pytest.mark.parametrize(("encoder", "memory", "actions", "shape", "objective"), MATRIX)
def test_every_combination_learns(
    tmp_path: Path, encoder: str, memory: str, actions: str, shape: str, objective: str
) -> None:
    settings: dict[str, Any] = {
        "engine": "inline",
        "workers": 1,
        "envs": 32,
        "rollout_steps": 2,
        "encoder": encoder,
        "encoder_size": 32,
        "memory": memory,
        "memory_size": 32,
        "objective": objective,
        "learning_rate": 1e-2 if encoder == "mlp" else 3e-3,
        "learning_rate_final": 0.1,
        "schedule_steps": 40_000,
        "entropy": 0.0,
        "deviation": 0.1 if actions == "continuous" else 1.0,
        "reward_scale": 1.0,
        "minibatches": 1,
        "normalise": "frozen" if encoder != "mlp" else "off",
        "normalise_steps": 256,
        "steps": 40_000,
        "until_return": ENOUGH,
        "checkpoint_seconds": 600.0,
        "log_seconds": 0.05,
        "runs": str(tmp_path),
    }
    run = hogwild.train(f"tests.spaces_probe:{probe_id(actions, shape, encoder)}", **settings)
    assert run.status["return_mean"] >= ENOUGH


def matrix_table() -> str:
    """The combinations, for the page."""
    lines = ["| encoder | memory | actions | observations | objectives |", "|---|---|---|---|---|"]
    for encoder, memory, actions, shape in itertools.product(PICTURES, MEMORIES, ACTIONS, SHAPES):
        lines.append(f"| {encoder} | {memory} | {actions} | {shape} | {', '.join(OBJECTIVES)} |")
    return "\n".join(lines)


def test_the_page_has_the_whole_matrix() -> None:
    assert matrix_table() in PAGE.read_text(encoding="utf-8")
