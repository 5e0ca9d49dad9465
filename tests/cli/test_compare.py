"""`hogwild compare`, on real runs of two methods: what it prints, draws and writes, and what it refuses."""

import json
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NoReturn

import pytest
from running import Ended

import hogwild
from hogwild.cli.compare import print_comparison
from hogwild.comparison import compare
from hogwild.config.settings import Settings
from hogwild.runs.folder import RunFolder

FEW: dict[str, Any] = {"engine": "inline", "steps": 4000, "envs": 4, "log_seconds": 0.05, "learning_rate": 1e-5}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One worker and two, two seeds each."""
    runs = tmp_path_factory.mktemp("trained")
    for workers in (1, 2):
        for seed in (0, 1):
            name = f"w{workers}-seed{seed}"
            hogwild.train("CartPole-v1", runs=str(runs), name=name, seed=seed, workers=workers, **FEW)
    return runs


@pytest.fixture
def two(trained: Path, here: Callable[..., Ended]) -> Callable[..., Ended]:
    """Compare the four runs."""
    return lambda *flags: here("compare", "w1*", "w2*", "--runs", str(trained), *flags)


def strict(text: str) -> Any:
    """JSON as the standard has it, which knows no NaN."""

    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is no JSON: {text}")

    return json.loads(text, parse_constant=refuse)


def write_runs(runs: Path, name: str, ends: list[float], **settings: Any) -> None:
    """Runs of a method that end at these returns."""
    for seed, end in enumerate(ends):
        folder = RunFolder(runs / f"{name}-seed{seed}")
        folder.create()
        folder.write_settings(Settings().update(env="CartPole-v1", seed=seed, **settings))
        row = {"progress/steps": 1000, "progress/seconds": 60.0, "progress/updates": 9, "episode/count": 100}
        folder.metrics.write_text(json.dumps(row | {"episode/return_mean": end}) + "\n")


def test_the_table_has_a_row_for_each_method_and_the_verdict_follows(two: Callable[..., Ended]) -> None:
    ended = two("--reach", "5", "--reach", "1000")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert re.split(r"  +", lines[0].strip()) == [
        "method",
        "seeds",
        "return at 4,096 steps",
        "95 % interval",
        "steps/s",
        "reached 5",
        "reached 1000",
    ]
    assert [line.split()[:2] for line in lines[1:3]] == [["w1", "2"], ["w2", "2"]]
    assert all("min (2 of 2)" in line and line.rstrip().endswith("0 of 2") for line in lines[1:3])
    assert "w1 and w2 are not distinguishable with 2 seeds each at 4,096 steps" in ended.out
    assert "note: Fewer than four seeds: the plain mean, not the interquartile mean." in lines


def test_json_is_one_object_with_everything(two: Callable[..., Ended], trained: Path) -> None:
    ended = two("--json", "--speedup")
    assert len(ended.out.splitlines()) == 1
    content = strict(ended.out)
    assert (content["by"], content["at"], content["environments"]) == ("steps", 4096, ["CartPole-v1"])
    first, second = content["methods"]
    assert (first["label"], first["seeds"], first["settings"]) == ("w1", 2, {"workers": 1})
    assert (second["label"], second["seeds"], second["settings"]) == ("w2", 2, {"workers": 2})
    status = json.loads((trained / "w1-seed1" / "status.json").read_text())
    assert first["runs"][1]["value"] == pytest.approx(status["return_mean"])
    assert first["value"] == pytest.approx(sum(run["value"] for run in first["runs"]) / 2)
    assert first["interval"] == sorted(run["value"] for run in first["runs"])
    assert first["runs"][0]["command"]
    assert len(first["curve"]["x"]) == len(first["curve"]["middle"]) > 1
    assert content["verdicts"] == [pair["verdict"] for pair in content["pairs"]]
    assert [(s["workers"], s["seeds"]) for s in content["speedup"]] == [(1, 2), (2, 2)]


def test_the_same_runs_come_to_the_same_figures(two: Callable[..., Ended]) -> None:
    assert two("--json").out == two("--json").out


def test_the_axis_and_the_place_can_be_chosen(two: Callable[..., Ended]) -> None:
    content = strict(two("--json", "--by", "updates", "--at", "20").out)
    assert (content["by"], content["at"]) == ("updates", 20)
    assert "at 20 updates" in content["verdicts"][0]


def test_a_clear_winner_is_named(here: Callable[..., Ended], tmp_path: Path) -> None:
    write_runs(tmp_path, "good", [90, 91, 92, 93, 94])
    write_runs(tmp_path, "bad", [10, 11, 12, 13, 14], lock="turns")
    out = here("compare", "*", "--runs", str(tmp_path)).out
    assert "good is better than bad at 1,000 steps (P = 1.00, interval 1.00–1.00).\n" in out
    assert re.search(r"^bad +turns\s*$", out, re.MULTILINE)  # the settings that set them apart


def test_of_many_pairs_only_those_with_a_winner_are_named(here: Callable[..., Ended], tmp_path: Path) -> None:
    write_runs(tmp_path, "a", [1, 2, 3, 4, 5])
    write_runs(tmp_path, "b", [1, 2, 3, 4, 5], lock="turns")
    write_runs(tmp_path, "c", [91, 92, 93, 94, 95], split=True)
    write_runs(tmp_path, "d", [3], slots=9)
    out = here("compare", "*", "--runs", str(tmp_path)).out
    assert re.findall(r"^(\w is better than \w)", out, re.MULTILINE) == ["c is better than a", "c is better than b"]
    assert "3 of 6 pairs have one seed or different environments: no verdict." in out
    assert "1 of 6 pairs are not distinguishable with these seeds." in out


def test_a_label_with_brackets_is_printed_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_runs(tmp_path, "[red]x", [1])
    print_comparison(compare([tmp_path / "[red]x-seed0"]))
    assert "[red]x-seed0 " in capsys.readouterr().out


def test_speed_up_is_printed_relative_to_the_fewest_workers(two: Callable[..., Ended]) -> None:
    rows = [line.split() for line in two("--speedup").out.splitlines() if line.rstrip().endswith("×")]
    assert [row[1] for row in rows] == ["1", "2"]
    assert rows[0][-2:] == ["1.00", "×"]


def test_a_picture_is_drawn(two: Callable[..., Ended], tmp_path: Path) -> None:
    plain, with_speed = tmp_path / "plain.png", tmp_path / "speed.png"
    assert f"wrote {plain}" in two("--png", str(plain)).out
    two("--png", str(with_speed), "--speedup")
    sizes = []
    for path in (plain, with_speed):
        head = path.read_bytes()[:24]
        assert head.startswith(b"\x89PNG")
        sizes.append((int.from_bytes(head[16:20]), int.from_bytes(head[20:24])))
    assert sizes[1][0] > sizes[0][0] >= 1000  # a second panel beside the first


class Page(HTMLParser):
    """Text, tags, and every address that a browser would fetch."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.text, self.fetched, self.opened, self.counts = "", [], [], {}
        self.feed(content)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.fetched += [
            v for k, v in attributes if k in ("src", "href", "xlink:href") and not (v or "").startswith("#")
        ]
        if tag in ("table", "tr", "td", "th", "ul", "li", "svg", "figure", "div"):
            self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.opened and tag == self.opened[-1]:
            self.opened.pop()

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_report_is_one_page_that_needs_nothing_else(two: Callable[..., Ended], tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    ended = two("--html", str(path), "--speedup")
    assert f"wrote {path}" in ended.out
    content = path.read_text()
    page = Page(content)
    assert page.fetched == []
    assert page.opened == []  # all that was opened was closed
    assert page.counts["svg"] == 1
    assert {"script", "link", "img"}.isdisjoint(page.counts)
    assert not re.search(r"@import|url\((?!#)", content)
    assert "prefers-color-scheme: dark" in content
    assert "currentColor" in content
    verdict = next(line for line in ended.out.splitlines() if "not distinguishable" in line)
    for words in (verdict, "Settings that differ", "w2-seed1", "steps of all environments together", "1.00 ×"):
        assert words in page.text, words


def test_the_report_tells_commands_and_revisions_as_they_were(
    here: Callable[..., Ended], trained: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(trained / "w1-seed0", tmp_path / "w1-seed0"))
    meta = {"command": "hogwild train <b>&x", "git": {"revision": "0123456789abcdef", "diff": "changed"}}
    (run / "meta.json").write_text(json.dumps(meta))
    here("compare", str(run), "--html", str(tmp_path / "a.html"))
    page = Page((tmp_path / "a.html").read_text())
    assert "hogwild train <b>&x" in page.text
    assert "b" not in page.counts
    assert "0123456789ab + changes" in page.text
    assert "nothing to compare it with" in page.text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["w1-seed9"], "no run 'w1-seed9'; did you mean 'w1-seed"),
        (["nothing*"], "No run in"),
        ([], "Compare which runs?"),
        (["w1*", "--at", "1000000"], "--at 1e+06: must lie above 0"),
        (["w1*", "--speedup"], "--speedup needs runs that differ in their number of workers"),
    ],
)
def test_a_comparison_that_makes_no_sense_is_refused(
    here: Callable[..., Ended], trained: Path, arguments: list[str], words: str
) -> None:
    ended = here("compare", *arguments, "--runs", str(trained))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("hogwild: ")
    assert words in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_run_without_episodes_is_refused_in_a_sentence(
    here: Callable[..., Ended], trained: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(trained / "w1-seed0", tmp_path / "young"))
    (run / "metrics.jsonl").write_text('{"progress/steps": 5}\n')
    ended = here("compare", str(run))
    message = "hogwild: Run 'young' has no finished episode yet: there is nothing to compare.\n"
    assert ended == Ended(2, "", message)


@pytest.mark.parametrize("flag", ["--png", "--html"])
def test_a_file_that_cannot_be_written_is_said_so(two: Callable[..., Ended], tmp_path: Path, flag: str) -> None:
    ended = two(flag, str(tmp_path / "missing" / "file"))
    assert ended.code == 5
    assert ended.err.startswith("hogwild: Cannot write '")
    assert "Traceback" not in ended.err
