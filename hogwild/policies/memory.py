"""Recurrent memories that run over whole rollouts and forget where an episode begins.

The state is one tensor [N, S]: the LSTM's hidden and cell halves side by side, the GRU's hidden vector, or nothing.
Inputs are projected for all steps at once; only the recurrent part loops over time.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class NoMemory(nn.Module):
    """Passes features through; its state has no columns."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.outputs = inputs
        self.state_size = 0

    def forward(self, features: Tensor, state: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ARG002
        """Features unchanged, [T, N, F]."""
        return features, state


class LSTM(nn.Module):
    """Long short-term memory with one bias per gate and the forget gate's bias starting at 1."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.outputs = units
        self.state_size = 2 * units
        self.input_weight = nn.Parameter(torch.empty(4 * units, inputs))
        self.recurrent_weight = nn.Parameter(torch.empty(4 * units, units))
        self.bias = nn.Parameter(torch.empty(4 * units))

    def reset_bias(self) -> None:
        """Zero, but 1 for the forget gate: a new memory keeps what it holds."""
        nn.init.zeros_(self.bias)
        with torch.no_grad():
            self.bias[self.outputs : 2 * self.outputs] = 1.0

    def forward(self, features: Tensor, state: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs [T, N, units] and the state after the last step."""
        projected = F.linear(features, self.input_weight, self.bias)
        hidden, cell = state.chunk(2, dim=-1)
        outputs = []
        for gates_in, starts in zip(projected, first, strict=True):
            keep = (~starts).unsqueeze(-1)
            hidden, cell = hidden * keep, cell * keep
            gates = gates_in + hidden @ self.recurrent_weight.t()
            enter, forget, candidate, leave = gates.chunk(4, dim=-1)
            cell = forget.sigmoid() * cell + enter.sigmoid() * candidate.tanh()
            hidden = leave.sigmoid() * cell.tanh()
            outputs.append(hidden)
        return torch.stack(outputs), torch.cat([hidden, cell], dim=-1)


class GRU(nn.Module):
    """Gated recurrent unit; the reset gate acts on the recurrent part of the candidate, as in cuDNN and torch."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.outputs = units
        self.state_size = units
        self.input_weight = nn.Parameter(torch.empty(3 * units, inputs))
        self.recurrent_weight = nn.Parameter(torch.empty(3 * units, units))
        self.bias = nn.Parameter(torch.empty(3 * units))
        self.recurrent_bias = nn.Parameter(torch.empty(3 * units))

    def reset_bias(self) -> None:
        """All zero."""
        nn.init.zeros_(self.bias)
        nn.init.zeros_(self.recurrent_bias)

    def forward(self, features: Tensor, state: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs [T, N, units] and the state after the last step."""
        projected = F.linear(features, self.input_weight, self.bias)
        outputs = []
        hidden = state
        for gates_in, starts in zip(projected, first, strict=True):
            hidden = hidden * (~starts).unsqueeze(-1)
            recurrent = F.linear(hidden, self.recurrent_weight, self.recurrent_bias)
            reset_in, update_in, candidate_in = gates_in.chunk(3, dim=-1)
            reset_rec, update_rec, candidate_rec = recurrent.chunk(3, dim=-1)
            reset = (reset_in + reset_rec).sigmoid()
            update = (update_in + update_rec).sigmoid()
            candidate = (candidate_in + reset * candidate_rec).tanh()
            hidden = candidate + update * (hidden - candidate)
            outputs.append(hidden)
        return torch.stack(outputs), hidden


Memory = NoMemory | LSTM | GRU


def make_memory(kind: str, inputs: int, units: int) -> Memory:
    """Memory by its name in the settings.

    >>> make_memory("gru", 8, 4).state_size
    4
    """
    if kind == "none":
        return NoMemory(inputs)
    return LSTM(inputs, units) if kind == "lstm" else GRU(inputs, units)
