"""The process of a job: plays or films, and says how far it is, a line of JSON at a time."""

import itertools
import os
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from hogwild.errors import HogwildError
from hogwild.helper_process import end_with_parent, own_channel, say
from hogwild.runs.evaluations import note_evaluation
from hogwild.runs.folder import RunFolder


def evaluate_checkpoint(folder: RunFolder, agent: Any, episodes: int, greedy: bool, channel: TextIO) -> dict[str, Any]:
    """Play whole games; answers the figures, which the run's folder keeps."""
    from hogwild.evaluation import evaluate

    result = evaluate(agent, episodes, greedy=greedy, on_episode=lambda count, _: say(channel, done=count))
    figures = {"checkpoint": agent.source.name, "steps": agent.steps, **result.summary()}
    note_evaluation(folder, figures)
    return figures


def film_checkpoint(folder: RunFolder, agent: Any, greedy: bool) -> dict[str, Any]:
    """Film one game; what is not finished has a name that nobody shows."""
    from hogwild.video import film

    stem = f"{agent.source.name}-{'greedy' if greedy else 'sampled'}"
    names = (folder.videos / f"{stem}-{number}.mp4" for number in itertools.count(1))
    video = next(path for path in names if not path.exists())
    unfinished = video.with_name(f".{video.name}")
    score, frames = film(agent, unfinished, greedy=greedy, seed=int(time.time()))
    os.replace(unfinished, video)
    return {"video": video.name, "return": score, "frames": frames}


def main() -> None:
    """Do what the arguments say."""
    channel = own_channel()
    end_with_parent()
    os.nice(10)  # a training may want the cores
    sys.path.insert(0, os.getcwd())  # where an environment of one's own is found, as in `hogwild`
    path, kind, checkpoint, episodes, greedy = sys.argv[1:]
    try:
        from hogwild.api import load

        folder = RunFolder(Path(path))
        agent = load(folder, checkpoint=checkpoint)
        if kind == "film":
            result = film_checkpoint(folder, agent, greedy == "1")
        else:
            result = evaluate_checkpoint(folder, agent, int(episodes), greedy == "1", channel)
        say(channel, result=result)
    except HogwildError as error:
        say(channel, error=str(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
