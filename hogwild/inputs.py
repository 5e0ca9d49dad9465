"""What entered the network and the loss in the first updates, kept exactly as it was for `hogwild inspect`."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from hogwild.rollout import Rollout


class InputRecorder:
    """Writes rollouts, and what updates made of them, of one who learns."""

    def __init__(self, folder: Path, rank: int, updates: int) -> None:
        self.folder, self.rank, self.left = folder, rank, updates
        self.rollouts = 0
        self.written = 0
        self.bad_left = 3

    def take(self, rollout: Rollout, minibatch: Any, number: int, step: int) -> None:
        """Keep the `number`th update of a rollout, and with the first one the rollout itself."""
        if not self.left:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        if number == 0:
            self.rollouts += 1
            played = [{"version": each.version, "born": each.born} for each in rollout.played]
            self._write(f"rollout-{self.rank}-{self.rollouts:04d}", rollout.tensors(), {"played": played})
        self.left -= 1
        self.written += 1
        tensors = {name: value for name, value in vars(minibatch).items() if isinstance(value, Tensor)}
        about = {"step": step, "rollout": f"rollout-{self.rank}-{self.rollouts:04d}", "number": number}
        self._write(f"update-{self.rank}-{self.written:04d}", tensors, about)

    def take_bad(self, rollout: Rollout, minibatch: Any, number: int, step: int) -> None:
        """Keep an update that was not finite, if it is one of the first."""
        if self.bad_left and (number or not self.left):
            self.bad_left -= 1
            self.left += 1
            if number:  # its rollout may not have been kept
                self.rollouts += 1
                self._write(f"rollout-{self.rank}-{self.rollouts:04d}", rollout.tensors(), {"played": []})
            self.take(rollout, minibatch, number, step)

    def _write(self, name: str, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        kept = {key: value.detach().cpu().contiguous().clone() for key, value in tensors.items()}
        new = self.folder / f".{name}.tmp"
        save_file(kept, new, {"about": json.dumps(about | {"rank": self.rank})})
        os.replace(new, self.folder / f"{name}.safetensors")


@dataclass(frozen=True)
class Recorded:
    """Tensors that were kept, and what is known of them."""

    name: str
    tensors: dict[str, Tensor]
    about: dict[str, Any]


def read_recorded(path: Path) -> Recorded:
    """One file of an `InputRecorder`."""
    with safe_open(path, "pt") as file:
        about = json.loads((file.metadata() or {}).get("about", "{}"))
        return Recorded(path.stem, {name: file.get_tensor(name) for name in file.keys()}, about)  # noqa: SIM118


def recorded_updates(folder: Path) -> list[tuple[Recorded, Recorded]]:
    """Updates and the rollouts that they come from, in the order of those who learned and of their updates."""
    rollouts: dict[str, Recorded] = {}
    found = []
    for update in sorted(map(read_recorded, folder.glob("update-*.safetensors")), key=_order):
        name = update.about["rollout"]
        if name not in rollouts:
            rollouts[name] = read_recorded(folder / f"{name}.safetensors")
        found.append((update, rollouts[name]))
    return found


def _order(update: Recorded) -> tuple[int, str, int]:
    return int(update.about["rank"]), str(update.about["rollout"]), int(update.about["number"])
