"""Action probabilities against torch.distributions, and at the edges of floating point."""

import torch
from torch.distributions import Categorical

from hogwild.maths import categorical


def test_log_probability_and_entropy_agree_with_torch() -> None:
    logits = torch.randn(7, 3, 5, generator=torch.Generator().manual_seed(0))
    actions = torch.randint(5, (7, 3), generator=torch.Generator().manual_seed(1))
    reference = Categorical(logits=logits)
    log_probs = logits.log_softmax(-1)
    torch.testing.assert_close(categorical.log_probability(log_probs, actions), reference.log_prob(actions))
    torch.testing.assert_close(categorical.entropy(log_probs), reference.entropy())


def test_entropy_and_its_gradient_are_finite_for_huge_logits() -> None:
    logits = torch.tensor([[0.0, 1000.0], [-1e30, 1e30]], requires_grad=True)
    entropy = categorical.entropy(logits.log_softmax(-1))
    entropy.sum().backward()
    assert entropy.tolist() == [0.0, 0.0]
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


def test_climbing_the_entropy_leads_to_equal_probabilities() -> None:
    logits = torch.tensor([0.0, 1.0, 3.0], requires_grad=True)
    optimizer = torch.optim.Adam([logits], lr=0.1)
    for _ in range(200):
        optimizer.zero_grad()
        (-categorical.entropy(logits.log_softmax(-1))).backward()
        optimizer.step()
    torch.testing.assert_close(logits.softmax(-1), torch.full((3,), 1 / 3), atol=1e-3, rtol=0)


def test_samples_follow_the_probabilities() -> None:
    probabilities = torch.tensor([0.1, 0.0, 0.6, 0.3])
    uniform = torch.rand(200_000, generator=torch.Generator().manual_seed(0))
    actions = categorical.sample(probabilities.log().expand(len(uniform), 4), uniform)
    frequencies = torch.bincount(actions, minlength=4) / len(uniform)
    torch.testing.assert_close(frequencies, probabilities, atol=5e-3, rtol=0)
    assert frequencies[1] == 0


def test_a_sample_is_a_valid_action_even_where_rounding_leaves_a_gap() -> None:
    """An action out of range hangs the emulator for ever, so this is worth a test of its own."""
    largest_below_one = torch.nextafter(torch.tensor(1.0), torch.tensor(0.0))
    logits = torch.randn(10_000, 18, generator=torch.Generator().manual_seed(0)) * 5
    actions = categorical.sample(logits.log_softmax(-1), largest_below_one.expand(10_000))
    assert int(actions.max()) <= 17
    assert int(actions.min()) >= 0
