"""Scenes as the browser gets them: JSON, with pictures as PNG."""

import base64
from typing import Any

import numpy as np

from hogwild.images import png, spread
from hogwild.watching.scene import Scene


def data_url(picture: np.ndarray) -> str:
    """A picture that an `<img>` takes as it is.

    >>> data_url(np.zeros((2, 2), dtype=np.uint8))[:22]
    'data:image/png;base64,'
    """
    return "data:image/png;base64," + base64.b64encode(png(np.ascontiguousarray(picture), level=1)).decode()


def scene_message(scene: Scene) -> dict[str, Any]:
    """One moment of a game."""
    return {
        "title": scene.title,
        "picture": None if scene.picture is None else data_url(scene.picture),
        "wide": scene.wide,
        "numbers": None if scene.numbers is None else [round(float(n), 4) for n in scene.numbers[:64]],
        "stack": None if (stack := spread(scene.seen)) is None else data_url(stack),
        "stacked": len(scene.seen),
        "actions": scene.actions,
        "probabilities": [round(float(p), 4) for p in scene.probabilities],
        "are_numbers": scene.are_numbers,
        "taken": [round(float(t), 4) for t in scene.taken],
        "value": round(scene.value, 4),
        "score": scene.score,
        "length": scene.length,
    }
