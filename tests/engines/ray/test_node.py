"""A machine is kept in its cluster: what ends by itself is started again, and what never came up is said."""

import os
import signal
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import psutil
import pytest

from hogwild.engines.ray import node, reaching
from hogwild.errors import UsageError


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "STEADY_SECONDS", 0.3)
    monkeypatch.setattr(node, "AGAIN_SECONDS", 0.05)
    monkeypatch.setattr(node, "LOOK_SECONDS", 0.05)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def command(script: str) -> list[str]:
    return [sys.executable, "-c", script]


def test_what_ends_is_started_again_until_a_signal_comes(tmp_path: Path) -> None:
    count = tmp_path / "count"
    script = f"import time; open('{count}', 'a').write('x'); time.sleep(0.4); print('given up')"
    said: list[str] = []
    timer = threading.Timer(2.5, lambda: os.kill(os.getpid(), signal.SIGTERM))
    timer.start()
    before = signal.getsignal(signal.SIGTERM)
    assert node.keep(command(script), tmp_path / "token", said.append) == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before
    assert len(count.read_text()) >= 2
    assert said[:1] == ["Ray has ended (given up); it is started again."]
    assert len(said) <= 2  # it is not said every time; the last may be that Ray ends


def test_what_never_comes_up_is_said_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did not come up: no such port"):
        node.keep(command("print('no such port')"), tmp_path / "token", print)


@pytest.mark.parametrize("times", [1, 2])
def test_everything_that_was_started_ends_with_the_signal(times: int, tmp_path: Path) -> None:
    child = tmp_path / "child"
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " if times > 1 else ""
    script = (
        f"{stubborn}import subprocess, sys, time; "
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "
        f"open('{child}', 'w').write(str(p.pid)); time.sleep(60)"
    )

    def press_ctrl_c() -> None:
        end = time.monotonic() + 30.0
        while not (child.exists() and child.read_text()) and time.monotonic() < end:
            time.sleep(0.05)
        for _ in range(times):  # the second time it does not want to end
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1.0)

    threading.Thread(target=press_ctrl_c).start()
    with pytest.raises(KeyboardInterrupt) if times > 1 else nullcontext():
        assert node.keep(command(script), tmp_path / "token", print) == signal.SIGINT
    end = time.monotonic() + 5.0
    while is_alive(pid := int(child.read_text())) and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_alive(pid)


@pytest.mark.parametrize("record", ["", "127.0.0.1:1"])
def test_a_cluster_that_is_only_on_record_is_refused_at_once(
    record: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaching, "RECORD", tmp_path / "ray_current_cluster")
    (tmp_path / "ray_current_cluster").write_text(record)
    with pytest.raises(UsageError, match="no Ray answers at 127.0.0.1:1" if record else "no Ray runs on this machine"):
        reaching.require_cluster("auto")


def test_only_a_record_of_the_same_address_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "ray" / "ray_current_cluster"
    monkeypatch.setattr(node, "RECORD", record)
    node.forget_killed("10.0.0.1:6379")  # there is none
    record.parent.mkdir()
    record.write_text("10.0.0.2:6379")
    node.forget_killed("10.0.0.1:6379")
    assert record.exists()
    node.forget_killed("10.0.0.2:6379")
    assert not record.exists()
