"""Whether this machine is fit for training, in words."""

import json
import resource
from pathlib import Path

import pytest

from hogwild import machine_check
from hogwild.cli.main import run as command
from hogwild.errors import HogwildError


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_check, "SECONDS", 1.0)


def test_a_machine_on_which_tests_run_is_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["doctor", "--runs", str(tmp_path), "--json"]) == 0
    remarks = json.loads(capsys.readouterr().out)
    assert len(remarks) == 9
    assert "torch" in remarks[0]["what"]
    assert "steps/s of CartPole" in remarks[-1]["what"]
    assert all(remark["advice"] for remark in remarks if remark["level"] != "fine")


def test_what_is_wrong_is_said_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise HogwildError("no luck")

    monkeypatch.setattr(machine_check, "train", fail)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, 100))
    monkeypatch.setattr(machine_check, "anonymous_file", fail)
    monkeypatch.setattr(machine_check, "atari_roms", dict)
    assert command(["doctor", "--runs", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "✘ only 100 files may be open at once\n    ulimit -n 1024" in out
    assert "✘ no luck" in out
    assert "? no Atari emulator\n    pip install 'hogwild[atari]'" in out
    assert "✘ a training of 1 s failed: no luck" in out
