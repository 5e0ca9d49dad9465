"""What a checkpoint takes of weights that workers go on changing."""

import threading

import pytest
import torch

from hogwild.errors import CheckpointError
from hogwild.session import finite_copy


def test_weights_that_change_meanwhile_are_not_taken_for_not_finite() -> None:
    weights, over = torch.ones(700_000), threading.Event()

    def work() -> None:
        while not over.is_set():
            weights.add_(1e-3)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(400):
            finite_copy(weights)
    finally:
        over.set()
        worker.join()


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused(wrong: float) -> None:
    with pytest.raises(CheckpointError, match="not finite; the last good checkpoint is kept"):
        finite_copy(torch.tensor([1.0, wrong]))
