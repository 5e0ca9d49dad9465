"""`hogwild export RUN`"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hogwild.cli.arguments import RunName, parse


@dataclass(frozen=True)
class Export:
    """Write a trained policy for use without Hogwild, normaliser and action bounds inside."""

    run: RunName = "latest"
    """Name or path of a run, or 'latest', the one that trained last."""
    to: Literal["onnx", "torchscript", "safetensors"] = "onnx"
    """Format; 'safetensors' has the plain weights."""
    out: str = ""
    """File to write (empty: policy.onnx and so on, in the run's folder)."""
    checkpoint: str = "newest"
    """Which checkpoint: 'newest', 'best', or the name of one."""
    runs: str = "runs"
    """Folder that holds all runs."""


def main(arguments: list[str]) -> int:
    """Export a policy."""
    given = parse(Export, "export", arguments)
    from hogwild.api import load
    from hogwild.errors import RunFolderError
    from hogwild.exporting import SUFFIXES, export
    from hogwild.runs.find import find_run

    folder = find_run(given.run, given.runs)
    agent = load(folder, checkpoint=given.checkpoint)
    path = Path(given.out) if given.out else folder.path / f"policy{SUFFIXES[given.to]}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        difference = export(agent, path, given.to)
    except OSError as error:
        raise RunFolderError(f"Cannot write '{path}': {error.strerror or error}.") from None
    size = path.stat().st_size / 1e6
    print(f"{path}: {agent.source.name} of {folder.name}, {size:.2f} MB")
    if given.to != "safetensors":
        print(f"It answers as the agent does, to {difference:.1e}.")
    return 0
