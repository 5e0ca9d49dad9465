"""The whole actor-critic: sizes, agreement of acting and learning, dropout, and what settings change."""

import pytest
import torch

from hogwild.config.settings import PolicySettings
from hogwild.policies.encoders import CHUNK
from hogwild.policies.policy import Policy
from hogwild.policies.spec import ObservationPart, PolicySpec, choice

VECTOR = PolicySpec((4,), "float32", choice(3))
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
    policy = make_policy(PolicySpec(shape, "uint8", choice(6)), encoder=encoder, memory=memory, memory_size=units or 1)
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
        torch.testing.assert_close(step.parameters[0], whole.parameters[t])
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
    assert (out.parameters.exp() - 1 / 3).abs().max().item() < 0.02


def without_value(policy: Policy) -> set[str]:
    """Modules on which a policy's values do not depend."""
    out = policy(torch.randn(3, 4, 4), policy.initial_state(4), torch.zeros(3, 4, dtype=torch.bool))
    gradients = torch.autograd.grad(out.value.sum(), list(policy.parameters()), allow_unused=True)
    names = [name for name, _ in policy.named_parameters()]
    changing = [g is not None and bool(g.any()) for g in gradients]
    return {name.rpartition(".")[0] for name, does in zip(names, changing, strict=True) if not does}


def test_split_actor_and_critic_share_only_the_trunk() -> None:
    assert without_value(make_policy(split=True, memory="gru", memory_size=8)) == {"actor_layer", "actor"}


def test_split_actor_and_critic_of_vectors_share_nothing_but_the_normaliser() -> None:
    policy = make_policy(split=True, normalise="running")
    assert without_value(policy) == {"encoder.layers.0", "encoder.layers.2", "actor"}
    assert [n for n, _ in policy.named_modules() if n.endswith("normaliser")] == ["encoder.normaliser"]


def test_vectors_of_several_parts_have_two_networks_like_those_of_one() -> None:
    parts = tuple(ObservationPart(name, (3,)) for name in "ab")
    spec = PolicySpec((6,), "float32", choice(2), packed=parts)
    policy = Policy(spec, PolicySettings(split=True, encoder_size=32))
    plain = Policy(PolicySpec((6,), "float32", choice(2)), PolicySettings(split=True, encoder_size=32))
    assert [tuple(p.shape) for p in policy.parameters()] == [tuple(p.shape) for p in plain.parameters()]
    assert policy.towers


def test_batches_larger_than_a_chunk_are_encoded_the_same() -> None:
    policy = make_policy(PolicySpec((2, 24, 24), "uint8", choice(3)), encoder="a3c")
    pictures = torch.randint(255, (1, CHUNK + 5, 2, 24, 24), dtype=torch.uint8)
    count = pictures.shape[1]
    whole = policy(pictures, policy.initial_state(count), torch.zeros(1, count, dtype=torch.bool))
    last = policy(pictures[:, -3:], policy.initial_state(3), torch.zeros(1, 3, dtype=torch.bool))
    torch.testing.assert_close(whole.value[:, -3:], last.value)


def pictures_and_policies(encoder: str) -> tuple[torch.Tensor, Policy, Policy]:
    """Pictures, and two policies with the same weights that compute with other numbers."""
    spec = PolicySpec((2, 70, 80), "uint8", choice(6))
    policies = []
    for precision in ("float32", "bfloat16"):
        torch.manual_seed(0)
        policies.append(make_policy(spec, encoder=encoder, precision=precision))
    return torch.randint(255, (2, 8, 2, 70, 80), dtype=torch.uint8), *policies


@pytest.mark.parametrize("encoder", ["compact", "a3c"])
def test_bfloat16_says_nearly_the_same_and_heads_stay_in_single_precision(encoder: str) -> None:
    pictures, exact, rough = pictures_and_policies(encoder)
    first = torch.zeros(2, 8, dtype=torch.bool)
    wanted, found = exact(pictures, exact.initial_state(8), first), rough(pictures, rough.initial_state(8), first)
    assert found.value.dtype == found.parameters.dtype == torch.float32
    torch.testing.assert_close(found.value, wanted.value, atol=0.02, rtol=0.02)
    torch.testing.assert_close(found.parameters, wanted.parameters, atol=0.02, rtol=0.02)
    assert not torch.equal(found.value, wanted.value)  # or nothing was computed in bfloat16


def test_gradients_in_bfloat16_point_where_those_in_single_precision_do() -> None:
    pictures, exact, rough = pictures_and_policies("compact")
    first, weights = torch.zeros(2, 8, dtype=torch.bool), torch.randn(2, 8)
    flat = []
    for policy in (exact, rough):
        out = policy(pictures, policy.initial_state(8), first)
        loss = (out.value * weights).sum() + (out.parameters[..., 0] * weights).sum()
        flat.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(policy.parameters()))]))
    assert flat[1].dtype == torch.float32
    assert torch.cosine_similarity(*flat, dim=0) > 0.999


def test_acting_and_learning_agree_in_bfloat16() -> None:
    pictures, _, policy = pictures_and_policies("compact")
    first = torch.zeros(2, 8, dtype=torch.bool)
    learning = policy(pictures, policy.initial_state(8), first)
    with torch.no_grad():
        acting = policy(pictures[:1], policy.initial_state(8), first[:1])
    torch.testing.assert_close(acting.parameters[0], learning.parameters[0], atol=2e-3, rtol=0)


@pytest.mark.parametrize("encoder", ["a3c", "mlp"])
def test_layer_norm_makes_features_of_mean_zero_and_deviation_one_before_their_activation(encoder: str) -> None:
    policy = make_policy(PolicySpec((2, 24, 24), "uint8", choice(3)), encoder=encoder, layer_norm=True)
    seen: list[torch.Tensor] = []
    for module in policy.encoder.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.register_forward_hook(lambda _, __, out: seen.append(out))
    pictures = torch.randint(255, (1, 5, 2, 24, 24), dtype=torch.uint8)
    policy(pictures, policy.initial_state(5), torch.zeros(1, 5, dtype=torch.bool))
    assert len(seen) == (1 if encoder == "a3c" else 2)
    for features in seen:
        torch.testing.assert_close(features.mean(-1), torch.zeros(5), atol=1e-5, rtol=0)
        torch.testing.assert_close(features.std(-1, correction=0), torch.ones(5), atol=1e-3, rtol=0)
        assert features.min() < 0  # the activation comes after it
