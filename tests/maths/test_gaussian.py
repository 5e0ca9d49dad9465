"""Normal and squashed normal distributions against torch's own, and against sums over a fine grid."""

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, TransformedDistribution, kl_divergence
from torch.distributions.transforms import TanhTransform

from hogwild.maths import gaussian


def parameters(seed: int = 0, size: int = 3) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    mean = torch.randn(7, size, generator=generator, dtype=torch.float64)
    return mean, 0.5 * torch.randn(7, size, generator=generator, dtype=torch.float64) - 0.5


def actions(mean: Tensor, log_deviation: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(9)
    drawn: Tensor = mean + log_deviation.exp() * torch.randn(mean.shape, generator=generator, dtype=torch.float64)
    return drawn


def test_densities_and_entropies_are_those_of_torch() -> None:
    mean, log_deviation = parameters()
    reference, taken = Normal(mean, log_deviation.exp()), actions(*parameters())
    found = gaussian.log_probability(mean, log_deviation, taken)
    torch.testing.assert_close(found, reference.log_prob(taken).sum(-1))
    torch.testing.assert_close(gaussian.entropy(log_deviation), reference.entropy().sum(-1))


def test_divergences_are_those_of_torch() -> None:
    (mean, log_deviation), (other, other_log) = parameters(0), parameters(1)
    expected = kl_divergence(Normal(mean, log_deviation.exp()), Normal(other, other_log.exp())).sum(-1)
    torch.testing.assert_close(gaussian.divergence(mean, log_deviation, other, other_log), expected)


def test_squashed_densities_are_those_of_torch() -> None:
    mean, log_deviation = parameters()
    before = actions(mean, log_deviation)
    reference = TransformedDistribution(Normal(mean, log_deviation.exp()), [TanhTransform()])
    expected = reference.log_prob(before.tanh()).sum(-1)
    found = gaussian.squashed_log_probability(mean, log_deviation, before)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 0.1), (0.0, 1.0), (0.7, 0.5), (-1.5, 0.8), (0.2, 1.5)])
def test_squashed_densities_sum_to_one_and_their_entropy_is_the_sum_over_a_grid(mean: float, deviation: float) -> None:
    before = torch.linspace(mean - 9 * deviation, mean + 9 * deviation, 200_001, dtype=torch.float64)[:, None]
    at, log_deviation = torch.full((1, 1), mean).double(), torch.full((1, 1), math.log(deviation)).double()
    log_density = gaussian.squashed_log_probability(at, log_deviation, before)
    places = before[:, 0].tanh()
    assert torch.trapezoid(log_density.exp(), places).item() == pytest.approx(1.0, abs=1e-4)
    # Over the numbers before, where the density is smooth.
    plain = gaussian.log_probability(at, log_deviation, before)
    expected = -torch.trapezoid(plain.exp() * log_density, before[:, 0]).item()
    assert gaussian.squashed_entropy(at, log_deviation).item() == pytest.approx(expected, abs=2e-3)


def test_what_is_squashed_to_the_very_edge_has_a_finite_density() -> None:
    far = torch.tensor([[60.0], [-60.0]])
    found = gaussian.squashed_log_probability(torch.zeros(1), torch.zeros(1), far)
    assert torch.isfinite(found).all()


def test_samples_have_the_mean_and_the_deviation() -> None:
    uniform = torch.rand(200_000, 1, generator=torch.Generator().manual_seed(0))
    drawn = gaussian.sample(torch.full((1,), 2.0), torch.full((1,), math.log(0.5)), uniform)
    assert drawn.mean().item() == pytest.approx(2.0, abs=0.01)
    assert drawn.std().item() == pytest.approx(0.5, abs=0.01)


def test_no_random_number_is_infinitely_far_away() -> None:
    edges = torch.tensor([[0.0], [1.0 - 2.0**-24]])
    assert torch.isfinite(gaussian.sample(torch.zeros(1), torch.zeros(1), edges)).all()


def test_gradients_are_right() -> None:
    mean, log_deviation = (each[:2].clone().requires_grad_() for each in parameters())
    taken = actions(mean.detach(), log_deviation.detach())
    assert torch.autograd.gradcheck(lambda m, s: gaussian.log_probability(m, s, taken), (mean, log_deviation))
    assert torch.autograd.gradcheck(lambda m, s: gaussian.squashed_log_probability(m, s, taken), (mean, log_deviation))
    assert torch.autograd.gradcheck(gaussian.squashed_entropy, (mean, log_deviation))


def test_at_the_floor_of_the_published_agent_entropy_cannot_be_negative() -> None:
    floor = math.exp(-0.5 * math.log(2 * math.pi) - 0.5)
    narrow = gaussian.with_floor(torch.full((1,), -30.0), floor)
    assert floor == pytest.approx(0.242, abs=1e-4)
    assert gaussian.entropy(narrow).item() == pytest.approx(0.0, abs=1e-5)
    assert gaussian.with_floor(torch.full((1,), -30.0), 0.0).item() == -30.0
