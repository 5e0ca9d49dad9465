"""How a run was made: command, revision, versions, machine, ROM, seeds. Enough to trust a number, or to doubt it."""

import hashlib
import os
import platform
import shlex
import subprocess
import sys
import time
from typing import Any

from hogwild.machine import available_cores, versions
from hogwild.resolve import Resolved


def describe_run(resolved: Resolved, seeds: dict[str, list[int]]) -> dict[str, Any]:
    """Everything about the making of a run that is not a setting."""
    return {
        "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": command_line(),
        "git": git_state(),
        "versions": versions(),
        "machine": machine(),
        "environment": {
            "id": resolved.plan.id,
            "protocol": resolved.plan.protocol.describe() if resolved.plan.protocol else None,
            "recipe": resolved.plan.recipe,
            "rom_sha256": rom_digest(resolved.plan.rom) if resolved.plan.rom else None,
            "observation_shape": list(resolved.spec.observation_shape),
            "observation_dtype": resolved.spec.observation_dtype,
            "actions": resolved.spec.describe_actions(),
        },
        "seeds": seeds,
    }


def machine() -> dict[str, Any]:
    """What this computer is."""
    return {
        "system": platform.platform(),
        "processor": processor_name(),
        "cores": available_cores(),
        "memory_gb": round(memory_bytes() / 2**30, 1),
    }


def command_line() -> str:
    """What was typed to start this process."""
    is_command = os.path.basename(sys.argv[0]) in ("hogwild", "__main__.py")
    return shlex.join(["hogwild" if is_command else sys.argv[0], *sys.argv[1:]])


def revision() -> str:
    """The package's version and, in a clone, its revision."""
    git = git_state()
    version = versions().get("hogwild", "?")
    if git is None:
        return f"hogwild {version}"
    return f"hogwild {version}, revision {git['revision'][:12]}{' + changes' if git['diff'] else ''}"


def git_state() -> dict[str, str] | None:
    """Revision of the package's source and what was changed since, if it lies in a git repository."""
    folder = os.path.dirname(os.path.abspath(__file__))

    def ask(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", folder, *words], capture_output=True, text=True, timeout=10, check=True
        ).stdout

    try:
        ask("ls-files", "--error-unmatch", os.path.abspath(__file__))  # else it is somebody else's repository
        return {"revision": ask("rev-parse", "HEAD").strip(), "diff": ask("diff", "HEAD")}
    except (OSError, subprocess.SubprocessError):
        return None


def processor_name() -> str:
    """The processor's own name, where the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def memory_bytes() -> int:
    """Main memory of this machine."""
    import psutil

    return int(psutil.virtual_memory().total)


def rom_digest(rom: str) -> str:
    """SHA-256 of a game's ROM."""
    from ale_py import roms

    with open(roms.get_rom_path(rom), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
