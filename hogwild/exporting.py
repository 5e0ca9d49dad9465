"""A trained policy for use elsewhere: one graph from an observation to an action, and the facts needed to feed it."""

import copy
import json
import logging
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hogwild import __version__
from hogwild.agent import Agent
from hogwild.errors import HogwildError, UsageError
from hogwild.threads import one_torch_thread

FORMATS = ("onnx", "torchscript", "safetensors")
MOST_DIFFERENCE = 1e-3
SUFFIXES = {"onnx": ".onnx", "torchscript": ".pt", "safetensors": ".safetensors"}


class Deployed(nn.Module):
    """A policy that answers the action as its environment wants it: everything in between is inside.

    Observations are [N, …] as `facts` describes them. A policy with a memory takes its state [N, S], zeros at the
    beginning of an episode, and answers the next one.
    """

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.policy = copy.deepcopy(agent.policy)
        self.policy.reads_bfloat16 = False  # not every runtime has it
        self.is_whole = agent.spec.action_dtype == "int64"
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

    def forward(self, observation: Tensor, state: Tensor) -> tuple[Tensor, ...]:
        """Action, what the policy thinks of all actions, value, and the next state."""
        first = torch.zeros(1, observation.shape[0], dtype=torch.bool)
        out = self.policy(observation.unsqueeze(0), state, first)
        parameters = out.parameters[0]
        action = self.policy.actions.played(self.policy.actions.mode(parameters))
        if self.is_choice:
            action = action + self.offset[0].long()
        else:
            action = torch.clamp(self.offset + self.scale * action, self.low, self.high)
            action = action.long() if self.is_whole else action
        shown = self.policy.actions.shown(parameters)
        return (action, shown, out.value[0], out.state) if self.has_state else (action, shown, out.value[0])


class Stateless(nn.Module):
    """A deployed policy without memory, which takes no state."""

    def __init__(self, deployed: Deployed) -> None:
        super().__init__()
        self.deployed = deployed

    def forward(self, observation: Tensor) -> tuple[Tensor, ...]:
        """Action, what the policy thinks of all actions, and value."""
        return self.deployed(observation, torch.zeros(observation.shape[0], 0))  # type: ignore[no-any-return]


def facts(agent: Agent) -> dict[str, Any]:
    """What somebody has to know to feed an exported policy and to use what it answers."""
    spec, plan, environment = agent.spec, agent.plan, agent.settings.environment
    protocol = plan.protocol
    return {
        "hogwild": __version__,
        "env": plan.id,
        "steps": agent.steps,
        "observation": {
            "shape": list(spec.observation_shape),
            "dtype": spec.observation_dtype,
            "parts": [
                {
                    "name": leaf.part.name,
                    "path": list(leaf.path),
                    "shape": list(leaf.part.shape),
                    "choices": list(leaf.choices),
                    "first": list(leaf.first),
                }
                for leaf in agent.layout.observations.leaves
            ],
            "action_mask": spec.mask_size,
        },
        "action": {"parts": [vars(part) for part in spec.actions], "names": list(spec.action_names())},
        "state_size": agent.policy.memory.state_size,
        "atari": None
        if protocol is None
        else {
            "recipe": plan.recipe,
            "protocol": protocol.describe(),
            "frame_skip": list(protocol.frame_skip),
            "frame_stack": environment.frame_stack,
            "picture": list(environment.picture),
        },
    }


def export(agent: Agent, path: Path, kind: str) -> float:
    """Write the policy in a format; answers the largest difference between its answers and ours."""
    if kind == "safetensors":
        from safetensors.torch import save_file

        weights = {name: tensor.contiguous().clone() for name, tensor in agent.policy.state_dict().items()}
        save_file(weights, path, {"hogwild": json.dumps(facts(agent))})
        path.chmod(0o644)  # it is made for its owner alone
        return 0.0
    if agent.settings.policy.dropout:
        raise UsageError(f"A policy with --dropout cannot be written as {kind}: its mask is part of its state.")
    deployed = Deployed(agent).eval()
    model: nn.Module = deployed if deployed.has_state else Stateless(deployed)
    with one_torch_thread(), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what torch is about to drop, and of what it traces
        return _write_onnx(agent, model, path) if kind == "onnx" else _write_torchscript(agent, model, path)


def questions(agent: Agent, count: int, seed: int = 0) -> tuple[Tensor, ...]:
    """Observations, and states if there are any, to try a policy with."""
    generator = torch.Generator().manual_seed(seed)
    shape = (count, *agent.spec.observation_shape)
    if agent.spec.observation_dtype == "uint8":
        observation = torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
    else:
        observation = torch.randn(shape, generator=generator)
    if agent.spec.mask_size:
        observation[..., -agent.spec.mask_size :] = 1
    size = agent.policy.memory.state_size
    return (observation, torch.randn(count, size, generator=generator).tanh()) if size else (observation,)


def _names(agent: Agent) -> tuple[list[str], list[str]]:
    state = ["state"] if agent.policy.memory.state_size else []
    return ["observation", *state], ["action", "actions", "value", *(f"next_{name}" for name in state)]


def _write_onnx(agent: Agent, model: nn.Module, path: Path) -> float:
    try:
        import onnx
        import onnxruntime
        import onnxscript  # noqa: F401  (torch needs it)
    except ImportError as error:
        raise UsageError(f"To write ONNX: pip install 'hogwild[onnx]' ({error}).") from None
    for noisy in ("torch.onnx", "onnxscript", "onnx_ir"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    inputs, outputs = _names(agent)
    asked = questions(agent, 2)
    batch = torch.export.Dim("batch")
    program = torch.onnx.export(
        model,
        asked,
        input_names=inputs,
        output_names=outputs,
        dynamic_shapes=tuple({0: batch} for _ in asked),
        dynamo=True,
        verbose=False,
    )
    assert program is not None
    content = program.model_proto
    onnx.helper.set_model_props(content, {"hogwild": json.dumps(facts(agent))})
    onnx.checker.check_model(content)
    path.write_bytes(content.SerializeToString())
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def ask(*question: Tensor) -> tuple[Tensor, ...]:
        named = {name: each.numpy() for name, each in zip(inputs, question, strict=True)}
        return tuple(torch.from_numpy(answer) for answer in session.run(None, named))

    return _difference(agent, model, ask)


def _write_torchscript(agent: Agent, model: nn.Module, path: Path) -> float:
    traced = torch.jit.trace(model, questions(agent, 2), check_trace=False)
    torch.jit.save(traced, str(path), _extra_files={"hogwild.json": json.dumps(facts(agent))})
    return _difference(agent, model, torch.jit.load(str(path)))


def _difference(agent: Agent, model: nn.Module, other: Any) -> float:
    """The largest difference between two that should answer alike, for one and for many observations."""
    found = [0.0]
    for count in (1, 200):
        question = questions(agent, count, seed=count)
        action, *ours = model(*question)
        other_action, *theirs = other(*question)
        found += [(mine - its).abs().max().item() for mine, its in zip(ours, theirs, strict=True)]
        if not agent.spec.is_choice:  # of choices that are as good as each other either may be taken
            found.append((action - other_action).abs().max().item())
    if not all(difference < MOST_DIFFERENCE for difference in found):
        raise HogwildError(f"What was written answers otherwise than the agent, by up to {max(found):g}.")
    return max(found)
