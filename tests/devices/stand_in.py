"""A device that does not exist, for machines without a graphics card: its tensors refuse to meet the host's.

A tensor of the stand-in wraps one of the host. Every operation has to find all its tensors on one device, as on a real
accelerator; only copies may cross over, and `.numpy()` and shared memory are refused.
"""

from typing import Any

import torch
from torch.utils import _pytree as pytree

NAME = "standin"
aten = torch.ops.aten
CROSSINGS = {aten._to_copy.default, aten.copy_.default}


class StandIn(torch.Tensor):
    """A tensor on the stand-in."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor, index: int = 0) -> "StandIn":
        made = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=torch.device(NAME, index),
        )
        made.held = held
        return made  # type: ignore[no-any-return]

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        return dispatch(function, arguments, options or {})


def dispatch(function: Any, arguments: Any, options: dict[str, Any]) -> Any:
    """Run an operation on what the tensors hold, after checking where they are."""
    tensors = [t for t in pytree.tree_leaves((arguments, options)) if isinstance(t, torch.Tensor)]
    strict = "_fused" in str(function)  # others take numbers of the host
    places = {t.device for t in tensors if t.dim() or strict or isinstance(t, StandIn)}
    if len(places) > 1 and function not in CROSSINGS and "index" not in str(function):
        raise RuntimeError(f"{function}: tensors on {', '.join(sorted(map(str, places)))}")
    target = options.get("device")
    target = torch.device(target) if target is not None else next((p for p in places if p.type == NAME), None)
    held_options = {k: v for k, v in options.items() if k != "device"}
    held = pytree.tree_map(lambda t: t.held if isinstance(t, StandIn) else t, (arguments, held_options))
    result = function(*held[0], **held[1])
    if result is None:  # an optimizer's kernel, which changes lists of tensors in place
        return None
    if function in (aten.copy_.default,) or (str(function).split(".")[1].endswith("_") and tensors):
        return arguments[0]
    if target is None or target.type != NAME:
        return result
    return pytree.tree_map(lambda t: StandIn(t, target.index or 0) if isinstance(t, torch.Tensor) else t, result)


def install() -> None:
    """Make the name of the stand-in a device of torch; once in a process."""
    if torch._C._get_privateuse1_backend_name() == NAME:
        return
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

    _setup_privateuseone_for_python_backend(rename=NAME)
    library = torch.library.Library("_", "IMPL")

    def fallback(function: Any, *arguments: Any, **options: Any) -> Any:
        return dispatch(function, arguments, options)

    library.fallback(fallback, "PrivateUse1")
    install.kept = library  # type: ignore[attr-defined]
