"""A run as a folder for the Hugging Face hub: a card with results, the weights, how it was trained, and a film."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hogwild import __version__
from hogwild.agent import Agent
from hogwild.errors import HogwildError, UsageError
from hogwild.evaluation import evaluate
from hogwild.exporting import export
from hogwild.runs.folder import RunFolder
from hogwild.video import film

ABOUT = {"policy.onnx": "the policy as one graph, for use without Hogwild", "replay.mp4": "one of its games"}


def write_model_folder(agent: Agent, run: RunFolder, folder: Path, episodes: int, greedy: bool = False) -> list[str]:
    """Write everything; answers what could not be. `greedy`: played with the likeliest actions."""
    folder.mkdir(parents=True, exist_ok=True)
    complaints = []
    results = evaluate(agent, episodes, greedy=greedy).summary() | {"env": agent.plan.id, "steps": agent.steps}
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    shutil.copyfile(run.config, folder / "config.toml")
    export(agent, folder / "model.safetensors", "safetensors")
    extras: dict[str, Callable[[Path], object]] = {
        "policy.onnx": lambda path: export(agent, path, "onnx"),
        "replay.mp4": lambda path: film(agent, path, greedy=greedy),
    }
    for name, write in extras.items():
        (folder / name).unlink(missing_ok=True)
        try:
            write(folder / name)
        except Exception as error:  # what is missing is said, and the rest is there
            complaints.append(f"no {name}: {error}")
    there = [name for name in extras if (folder / name).exists()]
    (folder / "README.md").write_text(card(agent, run, results, there), encoding="utf-8")
    return complaints


def card(agent: Agent, run: RunFolder, results: dict[str, Any], extras: list[str]) -> str:
    """The model card, with what the hub reads of it at its top; `extras` are the files that there are beside it."""
    env, method = agent.plan.id, agent.settings.objective.objective
    mean = f"{results['mean']:.2f} +/- {results['deviation']:.2f}"  # as the hub compares models
    spread = results["interval_95"]
    interval = "" if spread is None else f" ± {spread:.2f} (95 % interval)"
    exchange, engine = agent.settings.execution.exchange, agent.settings.execution.engine
    lines = [
        "---",
        "library_name: hogwild",
        "tags:",
        *(f"- {json.dumps(tag)}" for tag in (env, "reinforcement-learning", "deep-reinforcement-learning", "hogwild")),
        "model-index:",
        f"- name: {json.dumps(method.upper())}",
        "  results:",
        "  - task:",
        "      type: reinforcement-learning",
        "      name: reinforcement-learning",
        "    dataset:",
        f"      name: {json.dumps(env)}",
        f"      type: {json.dumps(env)}",
        "    metrics:",
        "    - type: mean_reward",
        f"      value: {json.dumps(mean)}",
        "      name: mean_reward",
        "      verified: false",
        "---",
        "",
        f"# {env}: {method} × {exchange} × {engine}",
        "",
        f"Trained with Hogwild {__version__} for {agent.steps:,} steps: run `{run.name}`.",
        f"{results['episodes']} whole games with {results['actions']} actions: mean return "
        f"**{results['mean']:.2f}**{interval}, deviation {results['deviation']:.2f}, best {results['best']:g}, "
        f"worst {results['worst']:g}.",
        "",
        "| file | |",
        "|---|---|",
        "| `config.toml` | all settings: `hogwild train --config config.toml` trains it again |",
        "| `model.safetensors` | the weights, with facts about observations and actions as metadata |",
        "| `results.json` | the evaluation |",
        *(f"| `{name}` | {ABOUT[name]} |" for name in extras),
    ]
    return "\n".join(lines) + "\n"


def push(folder: Path, repository: str) -> str:
    """Upload a folder to the hub; answers its address."""
    try:
        from huggingface_hub import HfApi, get_token
    except ImportError:
        raise UsageError("To push: pip install huggingface_hub.") from None
    if get_token() is None:
        raise UsageError("To push, log in first: hf auth login. The folder is written.")
    api = HfApi()
    try:
        address = api.create_repo(repository, exist_ok=True)
        api.upload_folder(repo_id=repository, folder_path=folder, commit_message="Trained with Hogwild")
    except Exception as error:  # what the network and the hub raise
        raise HogwildError(f"Cannot push to '{repository}': {type(error).__name__}: {error}") from error
    return str(address)
