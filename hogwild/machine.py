"""What this process may use of the computer it is on."""

import importlib.metadata
import math
import os
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

CONTROL_GROUPS, MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
PROCESSOR = Path("/proc/cpuinfo")
PACKAGES = ("hogwild", "torch", "numpy", "gymnasium", "ale-py", "safetensors")


def available_cores() -> int:
    """Cores that this process can keep busy: those it is bound to, and no more than its container's share of time.

    >>> available_cores() >= 1
    True
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.floor(min(bound, core_quota())))


def has_bfloat16(described: Path = PROCESSOR) -> bool:
    """Whether this processor multiplies in bfloat16 by itself; elsewhere it would be emulated, and slow.

    >>> has_bfloat16() in (True, False)
    True
    """
    flags = next((line.split() for line in _lines(described) if line.startswith("flags")), [])
    return "avx512_bf16" in flags or "amx_bf16" in flags


def devices_here(named: Sequence[str]) -> list[str]:
    """What stands on this machine for devices that another was told of: the graphics cards that there are, or the
    processor.

    >>> devices_here(["cpu"])
    ['cpu']
    """
    import torch

    found = []
    for kind, _, number in (name.partition(":") for name in named):
        if kind == "cuda" and (cards := torch.cuda.device_count()):
            found.append(f"cuda:{int(number or 0) % cards}")
        else:
            found.append("mps" if kind == "mps" and torch.backends.mps.is_available() else "cpu")
    return found


def core_quota(groups: Path = CONTROL_GROUPS, membership: Path = MEMBERSHIP) -> float:
    """Cores' worth of time that the control groups of this process grant it; infinite where nothing limits it.

    `docker run --cpus 2` on a computer with 64 cores sets nothing but this.
    """
    return min(map(_quota_of, _groups("cpu", groups, membership)), default=math.inf)


def available_memory(groups: Path = CONTROL_GROUPS, membership: Path = MEMBERSHIP) -> float:
    """Bytes of memory that all processes of ours together may have: the computer's, or their container's.

    >>> available_memory() > 1e6
    True
    """
    limits = map(_memory_of, _groups("memory", groups, membership))
    return min(float(psutil.virtual_memory().total), *limits, math.inf)


def _groups(controller: str, groups: Path, membership: Path) -> Iterator[Path]:
    """The control groups of this process that limit something, and all above them: their limits hold, too."""
    for line in _lines(membership):
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = groups / controllers if controllers else groups
        folder = root / path.lstrip("/")
        yield folder
        while folder != root and root in folder.parents:
            folder = folder.parent
            yield folder


def _memory_of(folder: Path) -> float:
    """Bytes that one control group grants, by either version."""
    words = _lines(folder / "memory.max") or _lines(folder / "memory.limit_in_bytes")
    return float(words[0]) if words and words[0].isdecimal() else math.inf


def _quota_of(folder: Path) -> float:
    """Cores' worth of time that one control group grants: version 2 says it in one file, version 1 in two."""
    words = " ".join(_lines(folder / "cpu.max")).split()
    if not words:
        words = [*_lines(folder / "cpu.cfs_quota_us"), *_lines(folder / "cpu.cfs_period_us")]
    try:
        quota, period = map(float, words)
    except ValueError:  # 'max', or nothing that we know
        return math.inf
    return quota / period if quota > 0 and period > 0 else math.inf


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def versions() -> dict[str, str]:
    """Versions of everything that a result may hang on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
