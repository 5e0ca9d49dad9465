"""`hogwild publish RUN`"""

from dataclasses import dataclass
from pathlib import Path

from hogwild.cli.arguments import RunName, parse


@dataclass(frozen=True)
class Publish:
    """Write a run as a folder for the Hugging Face hub, and push it if asked to."""

    run: RunName = "latest"
    """Name or path of a run, or 'latest', the one that trained last."""
    to_folder: str = ""
    """Folder to write (empty: 'publish' in the run's folder)."""
    push_to: str = ""
    """Repository on the hub to push to, as in me/pong; needs huggingface_hub and a token."""
    episodes: int = 100
    """Whole games to play for the results."""
    greedy: bool = False
    """Play with the likeliest actions, as policy.onnx does, instead of drawing them."""
    checkpoint: str = "newest"
    """Which checkpoint: 'newest', 'best', or the name of one."""
    runs: str = "runs"
    """Folder that holds all runs."""


def main(arguments: list[str]) -> int:
    """Publish a run."""
    given = parse(Publish, "publish", arguments)
    from hogwild.api import load
    from hogwild.errors import RunFolderError, UsageError
    from hogwild.publishing import push, write_model_folder
    from hogwild.runs.find import find_run

    if given.episodes < 1:
        raise UsageError(f"--episodes {given.episodes}: must be at least 1.")
    run = find_run(given.run, given.runs)
    folder = Path(given.to_folder) if given.to_folder else run.path / "publish"
    agent = load(run, checkpoint=given.checkpoint)
    print(f"playing {given.episodes} games, then filming one …", flush=True)
    try:
        complaints = write_model_folder(agent, run, folder, given.episodes, given.greedy)
    except OSError as error:
        raise RunFolderError(f"Cannot write '{folder}': {error.strerror or error}.") from None
    for complaint in complaints:
        print(f"hogwild: {complaint}")
    print(f"{folder}: {', '.join(sorted(file.name for file in folder.iterdir()))}")
    if given.push_to:
        print(push(folder, given.push_to))
    return 0
