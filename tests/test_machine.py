"""How many cores there are to use, also in a container that has but a share of them."""

import math
import os
from pathlib import Path

import psutil
import pytest

from hogwild import machine
from hogwild.machine import available_cores, available_memory, core_quota, has_bfloat16


def quota(tmp_path: Path, membership: str, files: dict[str, str]) -> float:
    (tmp_path / "membership").write_text(membership)
    for name, content in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return core_quota(tmp_path / "groups", tmp_path / "membership")


@pytest.mark.parametrize(
    ("membership", "files", "cores"),
    [
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2.0),
        ("0::/\n", {"cpu.max": "max 100000\n"}, math.inf),
        ("0::/\n", {}, math.inf),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "150000 100000\n"}, 1.5),
        ("0::/a\n", {"a/cpu.max": "50000 100000", "cpu.max": "900000 100000"}, 0.5),
        ("1:cpu:/x\n", {"cpu/x/cpu.cfs_quota_us": "300000", "cpu/x/cpu.cfs_period_us": "100000"}, 3.0),
        ("1:cpu:/x\n", {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"}, math.inf),
        (
            "4:memory:/y\n2:cpu,cpuacct:/x\n",
            {"cpu,cpuacct/x/cpu.cfs_quota_us": "100000", "cpu,cpuacct/x/cpu.cfs_period_us": "50000"},
            2.0,
        ),
        ("0::/\n", {"cpu.max": "nonsense"}, math.inf),
    ],
)
def test_the_share_of_a_container_is_read(membership: str, files: dict[str, str], cores: float, tmp_path: Path) -> None:
    assert quota(tmp_path, membership, files) == cores


@pytest.mark.parametrize(
    ("membership", "files", "limit"),
    [
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "1500000\n"}, 1.5e6),
        ("4:memory:/y\n2:cpu:/x\n", {"memory/y/memory.limit_in_bytes": "2000000\n"}, 2e6),
        ("0::/\n", {"memory.max": "max\n"}, math.inf),
    ],
)
def test_the_memory_of_a_container_is_read(
    membership: str, files: dict[str, str], limit: float, tmp_path: Path
) -> None:
    quota(tmp_path, membership, files)
    total = psutil.virtual_memory().total
    assert available_memory(tmp_path / "groups", tmp_path / "membership") == min(limit, total)


def test_where_there_are_no_control_groups_nothing_limits(tmp_path: Path) -> None:
    assert core_quota(tmp_path / "none", tmp_path / "nowhere") == math.inf


@pytest.mark.parametrize(("share", "cores"), [(0.5, 1), (1.9, 1), (2.0, 2), (64.0, 4), (math.inf, 4)])
def test_cores_are_those_that_are_bound_and_granted(share: float, cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(machine, "core_quota", lambda: share)
    assert available_cores() == cores


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model\t: x\nflags\t\t: fpu avx512f avx512_bf16 sse\n", True),
        ("flags\t\t: fpu amx_bf16\n", True),
        ("flags\t\t: fpu avx512f\n", False),
        ("Features\t: fp asimd bf16\n", False),
        ("", False),
    ],
)
def test_bfloat16_is_used_where_the_processor_says_that_it_has_it(tmp_path: Path, text: str, expected: bool) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    assert has_bfloat16(tmp_path / "cpuinfo") is expected
    assert has_bfloat16(tmp_path / "missing") is False


@pytest.mark.parametrize(
    ("cards", "named", "found"),
    [
        (0, ["cuda", "cpu"], ["cpu", "cpu"]),
        (1, ["cuda:0", "cuda:1"], ["cuda:0", "cuda:0"]),
        (2, ["cuda", "cuda:3"], ["cuda:0", "cuda:1"]),
    ],
)
def test_devices_of_another_machine_become_those_that_are_here(
    cards: int, named: list[str], found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: cards)
    assert machine.devices_here(named) == found
