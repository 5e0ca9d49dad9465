"""A trained policy as one graph, from what an environment shows to what it wants to be told, for use elsewhere."""

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hogwild.agent import Agent
from hogwild.envs.actions import Told, told_parts
from hogwild.envs.observations import MASK, Leaf
from hogwild.errors import UsageError


@dataclass(frozen=True)
class GraphInput:
    """One thing that the graph is given, [N, *shape]."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    leaf: Leaf | None = None  # the part of an observation that it is


def graph_inputs(agent: Agent) -> list[GraphInput]:
    """The parts of an observation as the environment has them, then the mask and the state if there are any."""
    inputs = [
        GraphInput(".".join(["observation", *map(str, leaf.path)]), leaf.shape, _dtype(leaf), leaf)
        for leaf in agent.layout.observations.leaves
    ]
    if agent.spec.mask_size:
        inputs.append(GraphInput(MASK, (agent.spec.mask_size,), "uint8"))
    if agent.policy.memory.state_size:
        inputs.append(GraphInput("state", (agent.policy.memory.state_size,), "float32"))
    return inputs


def graph_actions(agent: Agent) -> dict[str, Told]:
    """The parts of an action as the environment wants them, by the names of the outputs."""
    return {".".join(["action", *map(str, part.path)]): part for part in told_parts(agent.layout.actions.space)}


def require_names(agent: Agent) -> None:
    """Refuse parts that would have one name, such as `a.b` and the `b` of `a`."""
    names = [each.name for each in graph_inputs(agent)]
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice or len(graph_actions(agent)) < len(told_parts(agent.layout.actions.space)):
        raise UsageError(f"Two parts would have one name ({twice or 'action'}): a key with a dot in it wants another.")


def _dtype(leaf: Leaf) -> str:
    if leaf.choices:
        return "int64"
    return "uint8" if leaf.is_small else "float32"


class Deployed(nn.Module):
    """A policy that reads observations as their environment shows them and answers actions as it wants them:
    everything in between is inside.

    A policy with a memory takes its state [N, S], zeros at the beginning of an episode, and answers the next one.
    """

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.policy = copy.deepcopy(agent.policy)
        self.policy.reads_bfloat16 = False  # not every runtime has it
        self.leaves = agent.layout.observations.leaves
        self.observation_shape = agent.spec.observation_shape
        self.observation_dtype = getattr(torch, agent.spec.observation_dtype)
        self.is_masked = agent.spec.is_masked
        self.told = list(graph_actions(agent).values())
        self.has_state = bool(agent.policy.memory.state_size)
        self.is_choice = agent.spec.is_choice
        columns = agent.layout.actions.columns
        for name in ("offset", "scale", "low", "high"):
            values = torch.from_numpy(getattr(columns, name)).float()
            self.register_buffer(name, values.nan_to_num(posinf=torch.finfo().max, neginf=torch.finfo().min))
        self.offset: Tensor
        self.scale: Tensor
        self.low: Tensor
        self.high: Tensor

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        """All of `graph_actions`, what the policy thinks of all actions, value, and the next state; from
        `graph_inputs`."""
        count = given[0].shape[0]
        *seen, state = given if self.has_state else (*given, torch.zeros(count, 0))
        first = torch.zeros(1, count, dtype=torch.bool)
        out = self.policy(self.laid_out(seen).unsqueeze(0), state, first)
        parameters = out.parameters[0]
        action = self.policy.actions.played(self.policy.actions.mode(parameters))
        if self.is_choice:
            action = (action + self.offset[0].long()).unsqueeze(1)
        else:
            action = torch.clamp(self.offset + self.scale * action, self.low, self.high)
        told = [
            action[:, part.first : part.end].reshape(count, *part.shape).to(getattr(torch, part.dtype))
            for part in self.told
        ]
        shown = self.policy.actions.shown(parameters)
        return (*told, shown, out.value[0], *((out.state,) if self.has_state else ()))

    def laid_out(self, seen: list[Tensor]) -> Tensor:
        """The parts of an observation, and the mask, as the policy reads them: `Observations.pack` in torch."""
        parts = [arranged(part, leaf).to(self.observation_dtype) for part, leaf in zip(seen, self.leaves, strict=False)]
        if self.is_masked:
            parts.append((seen[-1] > 0).to(self.observation_dtype))
        packed = parts[0] if len(parts) == 1 else torch.cat([part.flatten(1) for part in parts], dim=1)
        return packed.reshape(packed.shape[0], *self.observation_shape)


def arranged(part: Tensor, leaf: Leaf) -> Tensor:
    """A batch of one part of an observation as the policy reads it: `Leaf.arrange` in torch."""
    if leaf.choices:
        ranges = [range(first, first + size) for first, size in zip(leaf.first, leaf.choices, strict=True)]
        chosen = part.reshape(part.shape[0], len(ranges)).minimum(torch.tensor([each[-1] for each in ranges]))
        number = [index for index, each in enumerate(ranges) for _ in each]  # to which a column belongs
        choice = torch.tensor([value for each in ranges for value in each])  # and what it stands for
        return chosen[:, number] == choice
    laid = part.permute(0, *(axis + 1 for axis in leaf.axes)) if leaf.axes else part
    return laid.reshape(part.shape[0], *leaf.part.shape)
