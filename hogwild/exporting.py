"""A trained policy for use elsewhere: one graph from an observation to an action, and the facts needed to feed it."""

import json
import logging
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hogwild import __version__
from hogwild.agent import Agent
from hogwild.deployed import Deployed, GraphInput, graph_actions, graph_inputs, require_names
from hogwild.envs.observations import MASK
from hogwild.errors import HogwildError, UsageError
from hogwild.threads import one_torch_thread

FORMATS = ("onnx", "torchscript", "safetensors")
MOST_DIFFERENCE = 1e-4  # of numbers up to 1, and of larger ones as a share
SUFFIXES = {"onnx": ".onnx", "torchscript": ".pt", "safetensors": ".safetensors"}


def facts(agent: Agent) -> dict[str, Any]:
    """What somebody has to know to feed an exported policy and to use what it answers."""
    spec, plan, environment = agent.spec, agent.plan, agent.settings.environment
    protocol = plan.protocol
    return {
        "hogwild": __version__,
        "env": plan.id,
        "steps": agent.steps,
        "observation": [
            {"input": each.name, "path": list(each.leaf.path), "shape": list(each.shape), "dtype": each.dtype}
            for each in graph_inputs(agent)
            if each.leaf is not None
        ],
        "action_mask": spec.mask_size,
        "action": {
            "outputs": [
                {"output": name, "path": list(part.path), "shape": list(part.shape), "dtype": part.dtype}
                for name, part in graph_actions(agent).items()
            ],
            "masked": [list(part.path) for part in graph_actions(agent).values() if part.is_choice],
            "parts": [vars(part) for part in spec.actions],
            "names": list(spec.action_names()),
        },
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
    """Write the policy in a format; answers the largest difference between its answers and ours, of numbers beyond 1
    as a share of them."""
    if kind == "safetensors":
        from safetensors.torch import save_file

        weights = {name: tensor.contiguous().clone() for name, tensor in agent.policy.state_dict().items()}
        save_file(weights, path, {"hogwild": json.dumps(facts(agent))})
        path.chmod(0o644)  # it is made for its owner alone
        return 0.0
    if agent.settings.policy.dropout:
        raise UsageError(f"A policy with --dropout cannot be written as {kind}: its mask is part of its state.")
    require_names(agent)
    model = Deployed(agent).eval()
    with one_torch_thread(), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what torch is about to drop, and of what it traces
        return _write_onnx(agent, model, path) if kind == "onnx" else _write_torchscript(agent, model, path)


def questions(agent: Agent, count: int, seed: int = 0) -> tuple[Tensor, ...]:
    """Inputs to try a policy with, as many as `graph_inputs` names; every action is allowed."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(_question(each, count, generator) for each in graph_inputs(agent))


def _question(asked: GraphInput, count: int, generator: torch.Generator) -> Tensor:
    shape = (count, *asked.shape)
    if asked.name == MASK:
        return torch.ones(shape, dtype=torch.uint8)
    if asked.dtype == "uint8":
        return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
    if asked.leaf is not None and asked.leaf.choices:
        sizes, firsts = torch.tensor(asked.leaf.choices), torch.tensor(asked.leaf.first)
        drawn = torch.rand(count, len(sizes), generator=generator, dtype=torch.float64)
        return (firsts + (drawn * sizes).long()).reshape(shape)
    numbers = torch.randn(shape, generator=generator)
    return numbers if asked.leaf is not None else numbers.tanh()  # a memory holds numbers between -1 and 1


def _write_onnx(agent: Agent, model: nn.Module, path: Path) -> float:
    try:
        import onnx
        import onnxruntime
        import onnxscript  # noqa: F401  (torch needs it)
    except ImportError as error:
        raise UsageError(f"To write ONNX: pip install 'hogwild[onnx]' ({error}).") from None
    for noisy in ("torch.onnx", "onnxscript", "onnx_ir"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    asked, inputs = questions(agent, 2), [each.name for each in graph_inputs(agent)]
    outputs = [*graph_actions(agent), "actions", "value", *(["next_state"] if "state" in inputs else [])]
    batch = torch.export.Dim("batch")
    program = torch.onnx.export(
        model,
        asked,
        input_names=inputs,
        output_names=outputs,
        dynamic_shapes={"given": tuple({0: batch} for _ in asked)},
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
        for mine, its in zip(model(*question), other(*question), strict=True):
            if mine.is_floating_point():  # of choices that are as good as each other either may be taken
                found.append(((mine - its).abs() / mine.abs().clamp(min=1.0)).max().item())
    if not all(difference < MOST_DIFFERENCE for difference in found):
        raise HogwildError(f"What was written answers otherwise than the agent, by up to {max(found):g}.")
    return max(found)
