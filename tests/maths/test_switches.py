"""Independent switches against torch's Bernoulli distribution."""

import pytest
import torch
from torch.distributions import Bernoulli, kl_divergence

from hogwild.maths import switches

LOGITS = 2 * torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
OTHERS = 2 * torch.randn(9, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
TAKEN = (torch.rand(9, 4, generator=torch.Generator().manual_seed(2)) < 0.5).long()


def test_probabilities_entropies_and_divergences_are_those_of_torch() -> None:
    reference = Bernoulli(logits=LOGITS)
    torch.testing.assert_close(switches.log_probability(LOGITS, TAKEN), reference.log_prob(TAKEN.double()).sum(-1))
    torch.testing.assert_close(switches.entropy(LOGITS), reference.entropy().sum(-1))
    expected = kl_divergence(reference, Bernoulli(logits=OTHERS)).sum(-1)
    torch.testing.assert_close(switches.divergence(LOGITS, OTHERS), expected)


def test_switches_are_on_as_often_as_they_should() -> None:
    uniform = torch.rand(100_000, 1, generator=torch.Generator().manual_seed(0))
    on = switches.sample(torch.tensor([1.0]), uniform).double().mean().item()
    assert on == pytest.approx(torch.tensor(1.0).sigmoid().item(), abs=0.005)


def test_logits_of_any_size_are_safe() -> None:
    logits = torch.tensor([1e4, -1e4], requires_grad=True)
    loss = switches.entropy(logits) + switches.log_probability(logits, torch.tensor([0, 1]))
    loss.backward()
    assert torch.isfinite(loss)
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


def test_gradients_are_right() -> None:
    logits = LOGITS[:2].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: switches.log_probability(x, TAKEN[:2]), (logits,))
    assert torch.autograd.gradcheck(switches.entropy, (logits,))
