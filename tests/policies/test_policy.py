"""The whole actor-critic: sizes, agreement of acting and learning, dropout, and what settings change."""

import pytest
import torch

from hogwild.config.settings import PolicySettings
from hogwild.policies.encoders import CHUNK
from hogwild.policies.policy import Policy
from hogwild.policies.spec import PolicySpec

VECTOR = PolicySpec((4,), "float32", 3)
MEMORIES = ["none", "lstm", "gru"]


def make_policy(spec: PolicySpec = VECTOR, **settings: object) -> Policy:
    torch.manual_seed(0)
    return Policy(spec, PolicySettings(**settings))  # type: ignore[arg-type]


def millions(policy: Policy) -> float:
    return sum(p.numel() for p in policy.parameters()) / 1e6


@pytest.mark.parametrize(
    ("encoder", "memory", "units", "shape", "expected"),
    [
        ("universe", "lstm", 256, (1, 42, 42), 0.588),
        ("universe", "gru", 256, (1, 42, 42), 0.449),
        ("a3g", "lstm", 512, (1, 80, 80), 3.25),
        ("nature", "none", 0, (4, 84, 84), 1.69),
        ("a3c", "none", 0, (4, 84, 84), 0.678),
        ("compact", "none", 0, (2, 70, 80), 0.353),
    ],
)
def test_networks_have_the_sizes_of_the_published_ones(
    encoder: str, memory: str, units: int, shape: tuple[int, ...], expected: float
) -> None:
    policy = make_policy(PolicySpec(shape, "uint8", 6), encoder=encoder, memory=memory, memory_size=units or 1)
    assert millions(policy) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("split", [False, True])
def test_acting_step_by_step_and_learning_from_the_rollout_agree(memory: str, dropout: float, split: bool) -> None:
    policy = make_policy(memory=memory, memory_size=8, dropout=dropout, split=split)
    observations, first = torch.randn(7, 3, 4), torch.rand(7, 3) < 0.3
    state = policy.renew_dropout(policy.initial_state(3), torch.Generator().manual_seed(1))
    whole = policy(observations, state, first)
    for t in range(7):
        step = policy(observations[t : t + 1], state, first[t : t + 1])
        state = step.state
        torch.testing.assert_close(step.log_probs[0], whole.log_probs[t])
        torch.testing.assert_close(step.value[0], whole.value[t])


def test_a_dropout_mask_drops_the_share_asked_for_and_keeps_the_mean() -> None:
    policy = make_policy(dropout=0.25, encoder_size=512)
    state = policy.renew_dropout(policy.initial_state(200), torch.Generator().manual_seed(0))
    assert (state == 0).float().mean().item() == pytest.approx(0.25, abs=0.01)
    assert state.mean().item() == pytest.approx(1.0, abs=0.01)


def test_without_a_drawn_mask_dropout_drops_nothing() -> None:
    policy = make_policy(dropout=0.5)
    assert (policy.initial_state(2) == 1).all()


def test_a_new_policy_is_close_to_random() -> None:
    policy = make_policy()
    out = policy(torch.randn(1, 50, 4), policy.initial_state(50), torch.zeros(1, 50, dtype=torch.bool))
    assert (out.log_probs.exp() - 1 / 3).abs().max().item() < 0.02


def test_split_actor_and_critic_share_only_the_trunk() -> None:
    policy = make_policy(split=True)
    out = policy(torch.randn(1, 4, 4), policy.initial_state(4), torch.zeros(1, 4, dtype=torch.bool))
    names = [n for n, _ in policy.named_parameters()]
    gradients = torch.autograd.grad(out.value.sum(), list(policy.parameters()), allow_unused=True)
    untouched = {n for n, g in zip(names, gradients, strict=True) if g is None}
    assert untouched == {"actor_layer.weight", "actor_layer.bias", "actor.weight", "actor.bias"}


def test_batches_larger_than_a_chunk_are_encoded_the_same() -> None:
    policy = make_policy(PolicySpec((2, 24, 24), "uint8", 3), encoder="a3c")
    pictures = torch.randint(255, (1, CHUNK + 5, 2, 24, 24), dtype=torch.uint8)
    count = pictures.shape[1]
    whole = policy(pictures, policy.initial_state(count), torch.zeros(1, count, dtype=torch.bool))
    last = policy(pictures[:, -3:], policy.initial_state(3), torch.zeros(1, 3, dtype=torch.bool))
    torch.testing.assert_close(whole.value[:, -3:], last.value)


def test_a_frozen_policy_says_the_same_and_forgets_when_it_thaws() -> None:
    policy = make_policy(PolicySpec((2, 24, 24), "uint8", 3), encoder="a3c")
    pictures = torch.randint(255, (1, 4, 2, 24, 24), dtype=torch.uint8)
    state, first = policy.initial_state(4), torch.zeros(1, 4, dtype=torch.bool)
    with policy.frozen():
        frozen = policy(pictures, state, first)
    assert not frozen.value.requires_grad
    torch.testing.assert_close(policy(pictures, state, first).value, frozen.value)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(2.0)
    with policy.frozen():
        changed = policy(pictures, state, first)
    torch.testing.assert_close(changed.value, policy(pictures, state, first).value)
    assert not torch.allclose(changed.value, frozen.value)
