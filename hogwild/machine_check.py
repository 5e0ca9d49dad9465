"""Whether this machine is fit for training: `hogwild doctor` without a run."""

import importlib.util
import os
import platform
import resource
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import torch

from hogwild.api import train
from hogwild.checking import Remark
from hogwild.envs.ids import atari_roms
from hogwild.errors import HogwildError
from hogwild.machine import available_cores, has_bfloat16
from hogwild.shareable import anonymous_file

FILES = 256  # open at once
FREE = 1e9  # bytes of disk
SHARED = 256_000_000  # bytes of shared memory, as much as pictures of many environments take
SECONDS = 10.0  # of training


def check_machine(runs: Path) -> Iterator[Remark]:
    """Everything that there is to say about this machine."""
    yield _torch()
    yield _cores()
    yield _memory()
    yield _shared_memory()
    yield _limits()
    yield _emulator()
    yield _disk(runs)
    yield _films()
    yield _training()


def _torch() -> Remark:
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    numbers = "bfloat16 for pictures" if has_bfloat16() else "float32 only"
    what = f"Python {platform.python_version()}, torch {torch.__version__} on {', '.join(devices)}; {numbers}"
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if threads not in ("", "1"):
        advice = "unset OMP_NUM_THREADS: workers take one thread each whatever it says, but other programs do not"
        return Remark("doubtful", f"{what}; OMP_NUM_THREADS is {threads}", advice)
    return Remark("fine", what)


def _cores() -> Remark:
    cores, load = available_cores(), os.getloadavg()[0]
    if load > 0.5 * cores:
        return Remark("doubtful", f"{cores} cores, of which others keep {load:.1f} busy", "end other programs first")
    return Remark("fine", f"{cores} cores, idle")


def _memory() -> Remark:
    free = psutil.virtual_memory().available / 1e9
    need = 0.4 * available_cores() + 0.5
    if free < need:
        return Remark(
            "doubtful", f"{free:.1f} GB of memory are free", f"about {need:.1f} are needed: take fewer --workers"
        )
    return Remark("fine", f"{free:.1f} GB of memory are free")


def _shared_memory() -> Remark:
    try:
        os.close(anonymous_file(SHARED))
    except HogwildError as error:
        return Remark("wrong", str(error), "free memory, or raise the limit of this container")
    return Remark("fine", f"{SHARED / 1e6:.0f} MB of shared memory can be had; /dev/shm is not needed")


def _limits() -> Remark:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files < FILES:
        return Remark("wrong", f"only {files} files may be open at once", f"ulimit -n {4 * FILES}")
    return Remark("fine", f"{files:,} files may be open at once")


def _emulator() -> Remark:
    games = len(atari_roms())
    if not games:
        return Remark("doubtful", "no Atari emulator", "pip install 'hogwild[atari]', if you want to train games")
    return Remark("fine", f"the Atari emulator, with {games} games")


def _disk(runs: Path) -> Remark:
    place = next(p for p in (runs.absolute(), *runs.absolute().parents) if p.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=place) as file:
            file.write(b"hogwild")
            file.flush()
    except OSError as error:
        return Remark("wrong", f"cannot write to '{place}': {error.strerror}", "give another folder with --runs")
    free = shutil.disk_usage(place).free
    if free < FREE:
        return Remark("doubtful", f"only {free / 1e6:,.0f} MB are free in '{place}'", "a run takes 20 to 200 MB")
    return Remark("fine", f"{free / 1e9:,.0f} GB are free in '{place}'")


def _films() -> Remark:
    import imageio_ffmpeg

    try:
        imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError:
        return Remark("doubtful", "no ffmpeg: games cannot be filmed", "pip install --force-reinstall imageio-ffmpeg")
    if importlib.util.find_spec("pygame") is None:
        return Remark("doubtful", "Atari games can be filmed, others not", "pip install 'hogwild[render]'")
    return Remark("fine", "games can be filmed")


def _training() -> Remark:
    """A short training on all cores, as a user would start it."""
    with tempfile.TemporaryDirectory(prefix="hogwild-") as folder:
        try:
            status = train("CartPole-v1", minutes=SECONDS / 60, runs=folder, name="doctor").status
        except HogwildError as error:
            return Remark("wrong", f"a training of {SECONDS:g} s failed: {error}", "see the lines above")
    speed = status["steps"] / max(status["seconds"], 1e-9)
    words = f"a training of {SECONDS:g} s: {speed:,.0f} steps/s of CartPole, mean return {status['return_mean']:.0f}"
    return Remark("fine", words)
