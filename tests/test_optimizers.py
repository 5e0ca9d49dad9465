"""Flat optimizers against torch's own and against formulas; shared statistics; counts that must not be lost."""

import math
import subprocess
import sys

import pytest
import torch
from torch import nn

from hogwild.config.settings import OptimizerSettings
from hogwild.optimizers import STATISTICS, initial_statistics, make_optimizer

SIZE, UPDATES = 40, 30
TORCH = {
    "adam": lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.8, 0.99), eps=1e-6),
    "amsgrad": lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.8, 0.99), eps=1e-6, amsgrad=True),
    "nadam": lambda p: torch.optim.NAdam(p, lr=0.01, betas=(0.8, 0.99), eps=1e-6),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, alpha=0.95, eps=1e-6),
}


def settings(kind: str, epsilon: float = 1e-6) -> OptimizerSettings:
    return OptimizerSettings(optimizer=kind, beta1=0.8, beta2=0.99, rms_decay=0.95, epsilon=epsilon)  # type: ignore[arg-type]


def gradients() -> torch.Tensor:
    return torch.randn(UPDATES, SIZE, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("kind", TORCH)
def test_a_flat_optimizer_does_what_torchs_does(kind: str) -> None:
    weights = torch.ones(SIZE)
    reference = nn.Parameter(torch.ones(SIZE))
    ours = make_optimizer(settings(kind), weights, initial_statistics(kind, SIZE))
    theirs = TORCH[kind]([reference])
    for count, gradient in enumerate(gradients(), start=1):
        ours.step(gradient, 0.01, count)
        reference.grad = gradient.clone()
        theirs.step()
    torch.testing.assert_close(weights, reference.data)


@pytest.mark.parametrize("kind", STATISTICS)
def test_two_workers_that_share_statistics_are_one_optimizer(kind: str) -> None:
    """Worker 2's update depends on what worker 1 has seen, and the count of updates is one count."""
    alone, together = torch.ones(SIZE), torch.ones(SIZE)
    single = make_optimizer(settings(kind), alone, initial_statistics(kind, SIZE))
    shared = initial_statistics(kind, SIZE)
    pair = [make_optimizer(settings(kind), together, shared) for _ in range(2)]
    for count, gradient in enumerate(gradients(), start=1):
        single.step(gradient, 0.01, count)
        pair[count % 2].step(gradient, 0.01, count)
    torch.testing.assert_close(together, alone, rtol=0, atol=0)


def test_tensorflows_rmsprop_is_its_formula() -> None:
    weight, mean_square = 1.0, 1.0
    weights = torch.ones(1)
    ours = make_optimizer(settings("rmsprop-tf", epsilon=0.1), weights, initial_statistics("rmsprop-tf", 1))
    for count, gradient in enumerate([0.5, -2.0, 1.5], start=1):
        ours.step(torch.tensor([gradient]), 0.01, count)
        mean_square = 0.95 * mean_square + 0.05 * gradient**2
        weight -= 0.01 * gradient / math.sqrt(mean_square + 0.1)
    assert weights.item() == pytest.approx(weight, rel=1e-6)


def test_tensorflows_and_torchs_rmsprop_differ_at_the_start() -> None:
    moved = {}
    for kind in ("rmsprop", "rmsprop-tf"):
        weights = torch.zeros(1)
        make_optimizer(settings(kind), weights, initial_statistics(kind, 1)).step(torch.tensor([0.01]), 0.01, 1)
        moved[kind] = abs(weights.item())
    assert moved["rmsprop"] > 20 * moved["rmsprop-tf"]


@pytest.mark.parametrize("kind", STATISTICS)
def test_a_gradient_is_left_as_it_was(kind: str) -> None:
    gradient = torch.ones(SIZE)
    make_optimizer(settings(kind), torch.ones(SIZE), initial_statistics(kind, SIZE)).step(gradient, 0.01, 1)
    assert (gradient == 1).all()


def test_updating_loads_no_compiler() -> None:
    """It would cost every process three seconds."""
    code = (
        "import sys, torch; from hogwild.config.settings import OptimizerSettings as S;"
        "from hogwild.optimizers import STATISTICS, initial_statistics, make_optimizer;"
        "[make_optimizer(S(optimizer=k), torch.ones(3), initial_statistics(k, 3)).step(torch.ones(3), 0.1, 1)"
        " for k in STATISTICS];"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
