"""A spectator in a process of its own, for the browser: plays, and says what it sees, a line of JSON at a time.

Its input takes lines of JSON as well: `{"speed": 1, "paused": false, "saliency": true, "layers": true}`. It ends when
its input does.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import torch

from hogwild.errors import HogwildError
from hogwild.eyes import listening, mosaic, saliency
from hogwild.helper_process import own_channel, say
from hogwild.runs.folder import RunFolder
from hogwild.watching.message import data_url, scene_message
from hogwild.watching.spectator import SpectatorView, newest_agent

FRAMES = 30.0  # a second, at most


class Options:
    """What the viewer wants, as told last."""

    def __init__(self) -> None:
        self.speed, self.paused, self.saliency, self.layers = 1.0, False, False, False

    def listen(self) -> None:
        """Take in lines until there are no more; then nobody looks on, and the process ends."""
        for line in sys.stdin:
            self.take(line)
        os._exit(0)

    def take(self, line: str) -> None:
        """Take in one line; what makes no sense is passed over."""
        try:
            said = json.loads(line)
            self.speed = min(16.0, max(0.1, float(said.get("speed", self.speed))))
            self.paused, self.saliency, self.layers = (
                bool(said.get(name, getattr(self, name))) for name in ("paused", "saliency", "layers")
            )
        except (ValueError, TypeError, AttributeError):
            return


def look(view: SpectatorView, options: Options) -> dict[str, Any]:
    """Play on, and tell what is asked for."""
    steps = max(1, round(view.steps_per_second * options.speed / FRAMES))
    if steps > 1:
        view.look(steps - 1)
    question, policy = view.asked(), view.agent.policy
    is_picture = question[0].ndim == 3
    with listening(policy) as heard:
        scene = view.look(1)
    assert scene is not None
    message = scene_message(scene)
    if options.saliency and is_picture:
        found = saliency(policy, *question)
        message["saliency"] = {"places": [[round(float(v), 5) for v in row] for row in found]}
    if options.layers:
        message["layers"] = [
            {"name": name, "shape": list(answer.shape[1:]), "picture": data_url(mosaic(answer))}
            for name, answer in heard.items()
        ]
    return message


def main() -> None:
    """Play until nobody looks on."""
    sys.path.insert(0, os.getcwd())
    torch.set_num_threads(1)
    channel, options = own_channel(), Options()
    threading.Thread(target=options.listen, daemon=True).start()
    folder = RunFolder(Path(sys.argv[1]))
    try:
        view = SpectatorView(folder, newest_agent(folder), seed=int(time.time()))
        os.nice(10)  # from here on the cores belong to the training
        while True:
            begun = time.monotonic()
            if not options.paused:
                say(channel, **look(view, options))
            wanted = 1 / min(FRAMES, view.steps_per_second * options.speed)
            time.sleep(max(0.0, wanted - (time.monotonic() - begun)))
    except HogwildError as error:
        say(channel, error=str(error))
        sys.exit(1)
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
