import math

import pytest
import torch
from torch import nn

from hogwild.config.settings import PolicySettings
from hogwild.policies.flat import ALIGNMENT, FlatLayout
from hogwild.policies.memory import LSTM
from hogwild.policies.policy import Policy
from hogwild.policies.spec import PolicySpec, choice

SPEC = PolicySpec((1, 42, 42), "float32", choice(6))


def policy_with(scheme: str, **settings: object) -> Policy:
    torch.manual_seed(0)
    return Policy(SPEC, PolicySettings(encoder="universe", initialisation=scheme, **settings))  # type: ignore[arg-type]


def test_columns_gives_every_output_of_a_head_the_same_length() -> None:
    policy = policy_with("columns")
    torch.testing.assert_close(policy.actor.weight.norm(dim=1), torch.full((6,), 0.01))
    torch.testing.assert_close(policy.critic.weight.norm(dim=1), torch.ones(1))


def test_orthogonal_rows_are_orthogonal_with_gain_sqrt_two() -> None:
    policy = policy_with("orthogonal", encoder_size=16)
    linear = policy.encoder.linear  # type: ignore[union-attr]
    assert isinstance(linear, nn.Linear)
    torch.testing.assert_close(linear.weight @ linear.weight.t(), 2 * torch.eye(16), atol=1e-4, rtol=0)


def test_an_lstm_starts_with_open_forget_gates() -> None:
    memory = policy_with("a3g", memory="lstm", memory_size=8).memory
    assert isinstance(memory, LSTM)
    assert memory.bias.tolist() == [0.0] * 8 + [1.0] * 8 + [0.0] * 16


def test_kaiming_starts_the_actor_with_a_bias_of_one() -> None:
    assert policy_with("kaiming").actor.bias.tolist() == [1.0] * 6


def test_normal_weights_are_small_and_cut_off_at_two_deviations() -> None:
    weight = policy_with("normal", encoder_size=256).encoder.linear.weight.detach()  # type: ignore[union-attr]
    assert float(weight.abs().max()) <= 0.04
    assert float(weight.std()) == pytest.approx(0.0176, abs=0.0005)


def test_glorot_weights_fill_their_interval() -> None:
    policy = policy_with("glorot", encoder_size=64)
    weight = policy.encoder.linear.weight.detach()  # type: ignore[union-attr]
    limit = math.sqrt(6 / (weight.shape[0] + weight.shape[1]))
    assert 0.99 * limit < float(weight.abs().max()) <= limit


@pytest.mark.parametrize("scheme", ["orthogonal", "glorot", "columns", "a3g", "kaiming", "normal"])
def test_every_scheme_sets_every_weight(scheme: str) -> None:
    policy = policy_with(scheme, memory="gru", memory_size=8, split=True)
    for name, parameter in policy.named_parameters():
        assert torch.isfinite(parameter).all(), name
        if parameter.dim() > 1:
            assert (parameter != 0).any(), name


def test_a_bound_policy_is_its_vector() -> None:
    policy = policy_with("orthogonal")
    before = {n: t.clone() for n, t in policy.state_dict().items()}
    layout = FlatLayout(policy)
    vector = layout.bind(policy)
    for name, view in layout.views(vector):
        torch.testing.assert_close(view, before[name])
    vector.zero_()
    assert all((t == 0).all() for t in policy.state_dict().values())


def test_parameters_come_before_buffers_and_start_on_cache_lines() -> None:
    policy = policy_with("orthogonal")
    layout = FlatLayout(policy)
    for name, _ in policy.named_parameters():
        assert layout.slices[name].stop <= layout.num_parameters
    for name, _ in policy.named_buffers():
        assert layout.slices[name].start >= layout.num_parameters
    assert all(where.start % ALIGNMENT == 0 for where in layout.slices.values())


class Parts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.first.bias.requires_grad_(False)
        self.register_buffer("order", torch.tensor([2, 0, 1]))
        self.register_buffer("scale", torch.tensor([0.5]))


def test_what_is_shared_frozen_or_a_whole_number_stays_so() -> None:
    parts = Parts()
    layout = FlatLayout(parts)
    vector = layout.bind(parts)
    assert parts.first.weight is parts.second.weight
    assert [name for name, p in parts.named_parameters() if not p.requires_grad] == ["first.bias"]
    assert set(layout.slices) == {"first.weight", "first.bias", "second.bias", "scale"}
    vector.zero_()
    assert parts.order.tolist() == [2, 0, 1]
    assert parts.scale.item() == 0.0
    assert not parts.second.weight.any()
