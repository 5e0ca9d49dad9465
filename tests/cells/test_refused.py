"""Combinations that make no sense are refused with what would."""

from typing import Any

import pytest

from hogwild.cli.train import read_arguments
from hogwild.errors import UsageError
from hogwild.resolve import layer, resolve
from tests.cells.cells import Cell, every_cell


def test_ppo_with_gradients_is_refused_and_its_neighbours_are_named() -> None:
    with pytest.raises(UsageError, match="Take --exchange weights, or trajectories"):
        resolve(layer("CartPole-v1", objective="ppo", exchange="gradients"))


@pytest.mark.parametrize(
    ("exchange", "changes", "flag"),
    [
        ("trajectories", {"entropy": [0.01, 0.02]}, "--entropy"),
        ("trajectories", {"discount": [0.9, 0.99]}, "--discount"),
        ("gradients", {"learning_rate": [1e-3, 1e-4]}, "--learning-rate"),
        ("barrier", {"max_grad_norm": [0.5, 1.0]}, "--max-grad-norm"),
        ("barrier", {"max_lag": 3}, "--max-lag"),
        ("gradients", {"shared_statistics": False}, "--no-shared-statistics"),
    ],
)
def test_what_an_exchange_would_ignore_is_refused(exchange: str, changes: dict[str, Any], flag: str) -> None:
    with pytest.raises(UsageError, match=f"{flag}: .*--exchange {exchange}"):
        resolve(layer("CartPole-v1", exchange=exchange, workers=2, **changes))


def test_a_batch_of_rollouts_is_measured_against_the_workers_there_will_be() -> None:
    workers = resolve(layer("CartPole-v1")).settings.execution.workers
    batch = {"exchange": "trajectories", "slots": 2, "minibatches": 1}
    resolve(layer("CartPole-v1", batch_rollouts=2 * workers, **batch))
    with pytest.raises(UsageError, match="more than fit into all slots"):
        resolve(layer("CartPole-v1", batch_rollouts=2 * workers + 1, **batch))


@every_cell
def test_flags_and_keyword_arguments_come_to_the_same(cell: Cell) -> None:
    flags = [word for name, value in cell.settings().items() for word in (f"--{name}", value)]
    given, _ = read_arguments(["CartPole-v1", *flags])
    assert given.settings() == layer("CartPole-v1", **cell.settings())


def test_what_is_typed_beats_a_preset_in_what_hangs_on_it_too() -> None:
    given, _ = read_arguments(["pong", "--preset", "atari-ppo", "--objective", "a3c"])
    assert given.settings() == layer("pong", preset="atari-ppo", objective="a3c")
