"""Memories against torch's own cells, and the ways in which a sequence can be cut."""

import pytest
import torch
from torch import Tensor, nn

from hogwild.policies.memory import GRU, LSTM, make_memory

T, N, FEATURES, UNITS = 6, 3, 5, 4


def random_memory(kind: str) -> LSTM | GRU:
    torch.manual_seed(0)
    memory = make_memory(kind, FEATURES, UNITS)
    for parameter in memory.parameters():
        nn.init.normal_(parameter, std=0.5)
    assert isinstance(memory, LSTM | GRU)
    return memory


def torch_outputs(memory: LSTM | GRU, features: Tensor, state: Tensor) -> Tensor:
    """The same weights in torch's own cell, step by step."""
    cell: nn.LSTMCell | nn.GRUCell
    outputs = []
    if isinstance(memory, LSTM):
        cell = nn.LSTMCell(FEATURES, UNITS)
        recurrent_bias = torch.zeros(4 * UNITS)
    else:
        cell = nn.GRUCell(FEATURES, UNITS)
        recurrent_bias = memory.recurrent_bias.data
    with torch.no_grad():
        cell.weight_ih.copy_(memory.input_weight)
        cell.weight_hh.copy_(memory.recurrent_weight)
        cell.bias_ih.copy_(memory.bias)
        cell.bias_hh.copy_(recurrent_bias)
        hidden = state.chunk(2, dim=-1) if isinstance(memory, LSTM) else state
        for step in features:
            hidden = cell(step, hidden)
            outputs.append(hidden[0] if isinstance(hidden, tuple) else hidden)
    return torch.stack(outputs)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_memory_computes_what_torchs_cell_computes(kind: str) -> None:
    memory = random_memory(kind)
    features, state = torch.randn(T, N, FEATURES), torch.randn(N, memory.state_size)
    outputs, _ = memory(features, state, torch.zeros(T, N, dtype=torch.bool))
    torch.testing.assert_close(outputs, torch_outputs(memory, features, state))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_single_steps_and_whole_sequences_agree(kind: str) -> None:
    memory = random_memory(kind)
    features, state = torch.randn(T, N, FEATURES), torch.randn(N, memory.state_size)
    first = torch.rand(T, N) < 0.3
    whole, last = memory(features, state, first)
    for t in range(T):
        output, state = memory(features[t : t + 1], state, first[t : t + 1])
        torch.testing.assert_close(output[0], whole[t])
    torch.testing.assert_close(state, last)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_an_episode_that_begins_inside_a_rollout_knows_nothing_of_the_one_before(kind: str) -> None:
    memory = random_memory(kind)
    features = torch.randn(T, 1, FEATURES)
    first = torch.zeros(T, 1, dtype=torch.bool)
    first[3] = True
    outputs, _ = memory(features, torch.randn(1, memory.state_size), first)
    fresh, _ = memory(features[3:], torch.zeros(1, memory.state_size), torch.zeros(T - 3, 1, dtype=torch.bool))
    torch.testing.assert_close(outputs[3:], fresh)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_gradients_do_not_flow_over_the_beginning_of_an_episode(kind: str) -> None:
    memory = random_memory(kind)
    features = torch.randn(T, 1, FEATURES, requires_grad=True)
    first = torch.zeros(T, 1, dtype=torch.bool)
    first[3] = True
    outputs, _ = memory(features, torch.zeros(1, memory.state_size), first)
    (gradient,) = torch.autograd.grad(outputs[3:].sum(), features)
    assert (gradient[:3] == 0).all()
    assert (gradient[3:] != 0).all()
