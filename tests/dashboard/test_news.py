"""What changes in the runs folder, and how often somebody looks."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hogwild.config.settings import Settings
from hogwild.dashboard import news
from hogwild.dashboard.catalogue import Catalogue
from hogwild.dashboard.news import News
from hogwild.runs.folder import RunFolder
from tests.dashboard.conftest import run_async


def make_run(runs: Path, name: str) -> RunFolder:
    folder = RunFolder(runs / name)
    folder.path.mkdir()
    folder.write_settings(Settings(env="CartPole-v1"))
    folder.write_status({"state": "finished", "steps": 1})
    return folder


def told(found: News, number: int) -> tuple[bool, list[tuple[str, int]], list[str]]:
    """What is told to those who know everything up to a change."""
    content = found.since(number)
    return content["all"], [(row["name"], row["steps"]) for row in content["runs"]], content["gone"]


def test_everybody_hears_what_has_changed_since_they_last_listened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(news, "MOST_LOOKING", 1e9)
    found = News(Catalogue(str(tmp_path)))

    async def follow() -> None:
        assert told(found, -1) == (True, [], [])
        first, second = make_run(tmp_path, "a"), make_run(tmp_path, "b")
        await found.look()
        assert told(found, -1) == (True, [("a", 1), ("b", 1)], [])
        early = found.number
        await found.look()
        assert found.number == early
        first.write_status({"state": "finished", "steps": 22})
        await found.look()
        assert told(found, early) == (False, [("a", 22)], [])
        late = found.number
        second.config.unlink()
        await found.look()
        assert told(found, late) == (False, [], ["b"])
        assert told(found, early) == (False, [("a", 22)], ["b"])
        assert told(found, -1) == (True, [("a", 22)], [])
        second.write_settings(Settings(env="CartPole-v1"))
        await found.look()
        assert told(found, late) == (False, [("b", 1)], [])

    run_async(follow())


def test_one_look_serves_everybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path, "a")
    catalogue, looks = Catalogue(str(tmp_path)), []
    monkeypatch.setattr(news, "list_runs", lambda runs: looks.append(runs) or [])
    found = News(catalogue)

    async def many() -> None:
        await asyncio.gather(*(found.look() for _ in range(100)))

    run_async(many())
    assert len(looks) == 1


def test_a_folder_that_takes_long_is_looked_at_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, looks = [0.0], []

    def slow(runs: str) -> list[Any]:
        looks.append(now[0])
        now[0] += 1.0  # what a look takes
        return []

    monkeypatch.setattr(news, "list_runs", slow)
    found = News(Catalogue(str(tmp_path)), now=lambda: now[0])

    async def a_minute() -> None:
        while now[0] < 60:
            await found.look()
            now[0] += 0.2

    run_async(a_minute())
    assert looks == pytest.approx([0.0, 20.2, 40.4], abs=0.5)
