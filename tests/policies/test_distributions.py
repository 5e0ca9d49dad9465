"""Distributions of actions of every kind: what is sampled is what the probabilities say, and nothing forbidden."""

import itertools
import math

import pytest
import torch
from torch import Tensor
from torch.distributions import Categorical, Normal

from hogwild.policies.distributions import NEVER, Choice, ChoiceColumn, Distribution, Numbers, Switches
from hogwild.policies.joint import Joint, make_distribution
from hogwild.policies.spec import ActionPart, PolicySpec, choice

PARTS = (ActionPart("choice", 3), ActionPart("numbers", 2), ActionPart("switches", 2), ActionPart("choice", 2))


def spec_of(*parts: ActionPart, masked: bool = False) -> PolicySpec:
    return PolicySpec((4,), "float32", parts, is_masked=masked)


def random_parameters(actions: Distribution, rows: int, seed: int = 0, mask: Tensor | None = None) -> Tensor:
    raw = torch.randn(rows, actions.size, generator=torch.Generator().manual_seed(seed))
    return actions.parameters(raw, mask)


def uniform(rows: int, actions: Distribution) -> Tensor:
    return torch.rand(rows, actions.draws, generator=torch.Generator().manual_seed(5))


def test_parts_are_independent_so_their_logarithms_add_up() -> None:
    actions = make_distribution(spec_of(*PARTS))
    parameters = random_parameters(actions, 6)
    taken = actions.sample(parameters, uniform(6, actions))
    assert taken.shape == (6, 6)
    first, numbers, on, second = parameters[:, :3], parameters[:, 3:7], parameters[:, 7:9], parameters[:, 9:]
    normal = Normal(numbers[:, :2], numbers[:, 2:].exp())
    bernoulli = torch.distributions.Bernoulli(logits=on)
    expected = (
        Categorical(logits=first).log_prob(taken[:, 0])
        + normal.log_prob(taken[:, 1:3]).sum(-1)
        + bernoulli.log_prob(taken[:, 3:5]).sum(-1)
        + Categorical(logits=second).log_prob(taken[:, 5])
    )
    torch.testing.assert_close(actions.log_probability(parameters, taken), expected)
    entropy = Categorical(logits=first).entropy() + normal.entropy().sum(-1) + bernoulli.entropy().sum(-1)
    torch.testing.assert_close(actions.entropy(parameters), entropy + Categorical(logits=second).entropy())


def test_samples_of_several_choices_come_as_often_as_they_should() -> None:
    actions = make_distribution(spec_of(ActionPart("choice", 2), ActionPart("choice", 3)))
    parameters = random_parameters(actions, 1)
    taken = actions.sample(parameters.expand(100_000, -1), uniform(100_000, actions))
    for pair in itertools.product(range(2), range(3)):
        share = (taken == torch.tensor(pair)).all(-1).double().mean().item()
        wanted = actions.log_probability(parameters, torch.tensor([pair])).exp().item()
        assert share == pytest.approx(wanted, abs=0.006)


@pytest.mark.parametrize("parts", [choice(5), (ActionPart("choice", 5), ActionPart("numbers", 1))])
def test_what_is_forbidden_is_never_taken_and_gives_no_gradient(parts: tuple[ActionPart, ...]) -> None:
    actions = make_distribution(spec_of(*parts, masked=True))
    mask = torch.tensor([[False, True, False, True, False]]).expand(20_000, -1)
    raw = torch.randn(1, actions.size, generator=torch.Generator().manual_seed(0)).requires_grad_()
    parameters = actions.parameters(raw.expand(20_000, -1), mask)
    taken = actions.sample(parameters.detach(), uniform(20_000, actions))
    chosen = taken if taken.dim() == 1 else taken[:, 0].long()
    assert sorted(chosen.unique().tolist()) == [1, 3]
    assert set(actions.mode(parameters).reshape(20_000, -1)[:, 0].tolist()) <= {1, 3}
    loss = (actions.entropy(parameters) + actions.log_probability(parameters, taken)).sum()
    (gradient,) = torch.autograd.grad(loss, raw)
    assert torch.isfinite(gradient).all()
    assert gradient[0, [0, 2, 4]].abs().max().item() == 0.0
    allowed = raw[0, [1, 3]].detach()
    torch.testing.assert_close(
        actions.entropy(parameters)[0].detach() - _rest(actions), Categorical(logits=allowed).entropy()
    )


def _rest(actions: Distribution) -> float:
    """Entropy of the number beside the choice, if there is one."""
    if isinstance(actions, Choice):
        return 0.0
    raw = torch.randn(1, actions.size, generator=torch.Generator().manual_seed(0))
    return Normal(0.0, raw[0, -1].exp()).entropy().item()


def test_rounding_never_leads_to_a_forbidden_action() -> None:
    actions = Choice(4, is_masked=True)
    parameters = actions.parameters(torch.zeros(1, 4), torch.tensor([[True, True, True, False]]))
    assert actions.sample(parameters, torch.tensor([[1.0 - 2.0**-24]])).item() == 2
    parameters = actions.parameters(torch.zeros(1, 4), torch.tensor([[False, True, True, True]]))
    assert actions.sample(parameters, torch.tensor([[0.0]])).item() == 1


@pytest.mark.parametrize("squash", [False, True])
def test_numbers_leave_the_policy_squashed_or_as_they_are(squash: bool) -> None:
    actions = make_distribution(spec_of(*PARTS), squash)
    taken = actions.sample(random_parameters(actions, 50), uniform(50, actions))
    played = actions.played(taken)
    torch.testing.assert_close(played[:, [0, 3, 4, 5]], taken[:, [0, 3, 4, 5]])
    torch.testing.assert_close(played[:, 1:3], taken[:, 1:3].tanh() if squash else taken[:, 1:3])


def test_what_is_shown_has_one_number_for_each_name() -> None:
    spec = spec_of(*PARTS)
    actions = make_distribution(spec)
    shown = actions.shown(random_parameters(actions, 3))
    assert shown.shape == (3, spec.num_actions) == (3, len(spec.action_names())) == (3, len(spec.are_numbers()))
    torch.testing.assert_close(shown[:, :3].sum(-1), torch.ones(3))
    assert spec.are_numbers() == (False,) * 3 + (True,) * 2 + (False,) * 4
    assert spec.taken([2, 0.5, -0.5, 0, 1, 1]).tolist() == [0, 0, 1, 0.5, -0.5, 0, 1, 0, 1]


@pytest.mark.parametrize(
    "actions", [Choice(4), Switches(3), Numbers(2), Joint([ChoiceColumn(2), Numbers(1)], torch.float32)]
)
def test_a_distribution_does_not_diverge_from_itself_but_from_others(actions: Distribution) -> None:
    one, other = random_parameters(actions, 5, seed=0), random_parameters(actions, 5, seed=1)
    assert actions.divergence(one, one).abs().max().item() < 1e-6
    assert actions.divergence(one, other).min().item() > 0


def test_the_indifferent_policy_favours_nothing_and_allows_no_more() -> None:
    actions = Choice(3, is_masked=True)
    parameters = actions.parameters(torch.tensor([[5.0, 0.0, 9.0]]), torch.tensor([[True, True, False]]))
    assert actions.indifferent(parameters)[0, :2].tolist() == pytest.approx([math.log(0.5)] * 2)
    assert actions.indifferent(parameters)[0, 2].item() < NEVER / 2
