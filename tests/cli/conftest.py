"""A tiny run to look at, and the command in this process, where one of its own makes no difference."""

import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Ended, call

from hogwild.cli import main


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """Run a command in this process."""

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "path", list(sys.path))
        capsys.readouterr()
        try:
            code = main.run(list(arguments))
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Ended(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended]:
    """The folder of a tiny run, and what its training said."""
    runs = tmp_path_factory.mktemp("runs")
    command = shlex.split(
        "train CartPole-v1 --steps 2600 --engine inline --workers 1 --envs 8 --rollout-steps 16 --name tiny"
    )
    command += ["--learning-rate", "1e-5"]  # hardly learns: games stay so short that more than 100 end
    ended = call(*command, "--runs", str(runs), folder=tmp_path_factory.mktemp("cwd"))
    assert ended.code == 0, ended.err
    return runs / "tiny", ended


@pytest.fixture
def tiny(made: tuple[Path, Ended], tmp_path: Path) -> Path:
    """A copy of the tiny run that may be changed."""
    return Path(shutil.copytree(made[0], tmp_path / "runs" / "tiny"))
