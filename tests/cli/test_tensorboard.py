"""TensorBoard runs for as long as a training does."""

import re
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from hogwild.cli.tensorboard import tensorboard


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://localhost:{port}/data/runs", timeout=5) as page:
            return bool(page.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def test_it_starts_and_ends_and_prints_nothing_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tensorboard(str(tmp_path), wanted=True):
        said = capsys.readouterr()
        assert said.out == ""
        found = re.search(r"http://localhost:(\d+)", said.err)
        assert found
        port, deadline = int(found[1]), time.monotonic() + 120
        while not answers(port):
            assert time.monotonic() < deadline, "it did not start"
            time.sleep(0.2)
    assert not answers(port)


def test_it_is_there_only_if_it_is_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tensorboard(str(tmp_path), wanted=False):
        assert capsys.readouterr().err == ""
