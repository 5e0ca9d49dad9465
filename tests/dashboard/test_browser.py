"""Every page in a real browser: what it shows is what the runs say, it reacts, and it complains of nothing."""

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

import hogwild
from tests.dashboard.conftest import Server, serving

PHONE = {"viewport": {"width": 390, "height": 844}}
Open = Callable[..., Any]
TABS = [f"/run/cart-0?tab={tab}" for tab in ("curves", "speed", "settings&all=1", "checkpoints", "log")]
PATHS = ["/", *TABS, "/compare?runs=cart-0,cart-1"]


def shown_on(path: str) -> str:
    """What stands on a page once it has read everything."""
    wanted = {"/nowhere": "h1", "/": "tbody tr", "settings": "tbody tr", "checkpoints": "tbody tr", "log": "dl.made dd"}
    tab = path.partition("tab=")[2].partition("&")[0]
    return wanted.get(tab or path, ".screen img" if tab == "live" else ".uplot canvas")


def home(server: Server, path: str = "/") -> str:
    return f"http://localhost:{server.port}{path}"


def where(page: Any) -> str:
    """The address, as the page has it at this moment."""
    return str(page.evaluate("() => location.href"))


def shown(value: float) -> str:
    """A number as the page writes it: four digits, of the six that the server sends."""
    sent = float(f"{value:.6g}")
    return f"{float(f'{sent:.4g}'):g}"


def eventually(check: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def stands_still(place: Any) -> str:
    """What a place says once it says the same for a second."""
    texts = [place.inner_text()]

    def same() -> bool:
        time.sleep(1)
        texts.append(place.inner_text())
        return bool(texts[-1] == texts[-2])

    eventually(same)
    return str(texts[-1])


def test_the_table_shows_filters_sorts_and_compares(server: Server, runs: Path, open_page: Open) -> None:
    page = open_page(home(server))
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="cart-0", exact=True))
    status = hogwild.Run("cart-0", str(runs)).status
    assert f"{status['steps']:,}" in row.inner_text()
    assert shown(status["return_mean"]) in row.inner_text()
    page.get_by_role("searchbox").fill("cart")
    assert page.locator("tbody tr").count() == 2
    assert "filter=cart" in where(page)
    page.get_by_role("button", name="run").click()
    first = page.locator("tbody tr").first.inner_text()
    page.get_by_role("button", name="run").click()
    assert page.locator("tbody tr").first.inner_text() != first
    page.get_by_label("choose cart-0").check()
    page.get_by_label("choose cart-1").check()
    page.get_by_role("link", name="Compare 2").click()
    page.locator(".uplot").first.wait_for()
    assert [text.strip() for text in page.locator(".legend li").all_inner_texts()] == ["cart-0", "cart-1"]
    label = page.get_by_role("img", name=re.compile(r"^episode\/return_mean")).get_attribute("aria-label")
    for name in ("cart-0", "cart-1"):
        last = hogwild.Run(name, str(runs)).metrics()[-1]["episode/return_mean"]
        assert f"{name}: last {shown(last)}" in label
    page.get_by_label("seeds together").check()
    page.get_by_role("img", name=re.compile("cart-0 and 1 more")).first.wait_for()


def test_curves_have_the_last_value_of_the_run_and_follow_the_address(
    server: Server, runs: Path, open_page: Open
) -> None:
    page = open_page(home(server, "/run/cart-0?by=minutes&smooth=0.5"))
    chart = page.get_by_role("img", name=re.compile(r"^policy\/entropy by minutes"))
    chart.wait_for()
    page.get_by_label("smooth").fill("0")
    eventually(lambda: "smooth" not in where(page))
    last = [row for row in hogwild.Run("cart-0", str(runs)).metrics() if "policy/entropy" in row][-1]["policy/entropy"]
    eventually(lambda: f"last {shown(last)}" in (chart.get_attribute("aria-label") or ""))
    page.get_by_role("combobox", name="by").select_option("updates")
    page.get_by_role("img", name=re.compile(r"^policy\/entropy by updates")).wait_for()
    assert "by=updates" in where(page)
    page.reload()
    page.get_by_role("img", name=re.compile(r"^policy\/entropy by updates")).wait_for()


def test_a_picture_is_zoomed_by_mouse_and_keys_and_shared_by_its_address(server: Server, open_page: Open) -> None:
    page = open_page(home(server, "/run/cart-0"))
    over = page.locator(".u-over").first
    over.wait_for()
    box = over.bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 50, steps=4)
    page.mouse.up()
    eventually(lambda: "from=" in where(page))
    zoomed = where(page)
    page.locator(".canvas").first.focus()
    page.keyboard.press("ArrowRight")
    eventually(lambda: where(page) != zoomed)
    page.keyboard.down("Shift")
    moved = where(page)
    page.mouse.move(box["x"] + 300, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 50, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    eventually(lambda: where(page) != moved)
    again = open_page(where(page))
    again.get_by_role("button", name="Show all").click()
    eventually(lambda: "from=" not in where(again))


def test_settings_beside_the_defaults_and_another_run(server: Server, open_page: Open) -> None:
    page = open_page(home(server, "/run/cart-0?tab=settings"))
    page.get_by_role("rowheader", name=re.compile("^engine")).wait_for()
    assert page.get_by_role("row", name=re.compile("^engine")).inner_text().split("\t")[1:3] == ["inline", "processes"]
    assert page.get_by_role("rowheader", name=re.compile("^learning_rate ")).count() == 0
    page.get_by_label("beside").select_option("cart-1")
    page.get_by_role("row", name=re.compile("^seed")).wait_for()
    page.get_by_label("only differences").uncheck()
    page.get_by_role("rowheader", name=re.compile("^learning_rate ")).wait_for()


def test_speed_log_and_doctor(server: Server, open_page: Open) -> None:
    page = open_page(home(server, "/run/cart-0?tab=speed"))
    page.get_by_role("img", name=re.compile(r"^speed\/steps_per_second")).wait_for()
    page.get_by_role("img", name=re.compile("^share of time.*environment: last")).wait_for()
    assert page.get_by_role("rowheader", name="worker 1").count() == 1
    page.get_by_role("link", name="log", exact=True).click()
    page.get_by_role("heading", name="Doctor").wait_for()
    assert "CartPole-v1" in page.locator("main").inner_text()


def test_the_doctor_speaks_up_whatever_part_is_looked_at(tmp_path: Path, runs: Path, open_page: Open) -> None:
    ill = tmp_path / "runs" / "ill"
    shutil.copytree(runs / "cart-0", ill)
    rows = [json.loads(line) for line in (ill / "metrics.jsonl").read_text().splitlines()]
    rows = [row | {"policy/entropy": 0.001} for row in rows]
    (ill / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving("dashboard", "--runs", str(tmp_path / "runs")) as server:
        page = open_page(home(server, "/run/ill?tab=settings"))
        page.get_by_text(re.compile("^The doctor has")).click()
        page.get_by_text("entropy-collapsed").wait_for()
        page.close()  # before the server ends, of which it would complain


def test_a_checkpoint_is_evaluated_and_filmed_by_buttons(server: Server, open_page: Open) -> None:
    page = open_page(home(server, "/run/cart-0?tab=checkpoints"))
    page.get_by_label("games").fill("2")
    page.get_by_role("button", name=re.compile("^Evaluate step")).click()
    page.get_by_text(re.compile(r"\(2 games, sampled\)")).wait_for()
    page.get_by_role("button", name=re.compile("^Film step")).click()
    film = page.locator("video")
    film.wait_for(timeout=180_000)  # a busy machine films slowly
    eventually(lambda: film.evaluate("video => video.videoWidth") > 0)


def test_the_spectator_plays_and_shows_what_the_agent_sees(server: Server, open_page: Open) -> None:
    page = open_page(home(server, "/run/pong?tab=live&saliency=1&layers=1"))
    page.locator(".screen img").wait_for()
    page.locator("canvas.overlay").wait_for()
    page.get_by_alt_text("activity of layer convolutions.0").wait_for()
    assert page.locator(".probabilities li").count() == 6
    before = int(page.locator("[data-fact=length]").inner_text())
    eventually(lambda: int(page.locator("[data-fact=length]").inner_text()) > before)
    page.get_by_role("button", name="Pause").click()
    stands_still(page.locator("[data-fact=length]"))


@pytest.fixture
def training(runs: Path) -> Iterator[str]:
    """A run that trains while somebody looks on."""
    flags = ["--minutes", "3", "--runs", str(runs), "--name", "now", "--quiet", "--log-seconds", "0.5"]
    process = subprocess.Popen([sys.executable, "-m", "hogwild", "train", "CartPole-v1", "--workers", "1", *flags])
    yield "now"
    process.terminate()
    try:
        process.wait(30)
    finally:
        process.kill()
        shutil.rmtree(runs / "now")


def test_a_run_that_trains_is_shown_live(server: Server, open_page: Open, training: str) -> None:
    page = open_page(home(server))
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=training, exact=True))
    row.get_by_text("training").wait_for()
    page.get_by_text("live", exact=True).wait_for()

    def steps() -> int:
        return int(row.locator("td.number").first.inner_text().replace(",", ""))

    before = steps()
    eventually(lambda: steps() > before)
    row.get_by_role("link").click()
    page.locator(".uplot").first.wait_for()
    chart = page.get_by_role("img", name=re.compile(r"^episode\/return_mean"))
    label = chart.get_attribute("aria-label")
    eventually(lambda: chart.get_attribute("aria-label") != label)
    page.get_by_role("link", name="live", exact=True).click()
    page.locator("[data-fact=length]").wait_for()  # worker 0, as its network receives it: four numbers
    assert page.get_by_label("observation").locator("code").count() == 4
    seen = page.get_by_label("observation").inner_text()
    eventually(lambda: page.get_by_label("observation").inner_text() != seen)


def test_a_person_plays_pong_against_what_the_agent_would_do(runs: Path, open_page: Open) -> None:
    with serving("play", "pong", "--against", "pong", "--runs", str(runs)) as server:
        page = open_page(home(server, "/play"))
        page.locator(".screen img").wait_for()
        assert page.get_by_role("heading", name="pong").count() == 1
        frames = page.locator(".strip figcaption", has_text="frame")
        assert frames.count() == 2
        assert page.get_by_label("action probabilities").count() == 1
        assert page.locator("[data-fact=step]").inner_text() == "0"
        page.keyboard.down("ArrowRight")
        page.locator("button.taken", has_text="right").wait_for()
        eventually(lambda: int(page.locator("[data-fact=step]").inner_text()) > 5)
        page.keyboard.up("ArrowRight")
        page.locator("button.taken", has_text="noop").wait_for()
        page.keyboard.press("p")
        rest = int(stands_still(page.locator("[data-fact=step]")))
        page.keyboard.press("n")
        eventually(lambda: int(page.locator("[data-fact=step]").inner_text()) == rest + 1)
        numbers = [int(text.split()[1]) for text in frames.all_inner_texts()]
        assert numbers[1] - numbers[0] == 4
        page.get_by_role("button", name="New game").click()
        eventually(lambda: page.locator("[data-fact=step]").inner_text() == "0")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_in_both_themes(server: Server, open_page: Open, path: str, theme: str) -> None:
    page = open_page(home(server, path), color_scheme=theme, **PHONE)
    page.locator(shown_on(path)).first.wait_for()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    light = page.evaluate(
        "() => getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).map(Number)[0] > 128"
    )
    assert light == (theme == "light")


@pytest.mark.parametrize("path", [*PATHS, "/run/pong?tab=live", "/nowhere"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_barriers(server: Server, open_page: Open, path: str, theme: str) -> None:
    """Axe's rules: names, roles, contrast, order of headings, and some sixty more."""
    page = open_page(home(server, path), color_scheme=theme)
    page.locator(shown_on(path)).first.wait_for()
    page.wait_for_timeout(1500)  # the doctor comes a second later, if there is anything to say
    found = Axe().run(page).response["violations"]
    assert [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found] == []


def test_everything_can_be_reached_by_keyboard(server: Server, open_page: Open) -> None:
    page = open_page(home(server))
    page.locator("tbody tr").first.wait_for()
    page.keyboard.press("/")
    page.keyboard.type("cart-1")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.textContent") == "cart-1":
            break
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="cart-1").wait_for()
    assert page.title() == "cart-1 · Hogwild"
    page.go_back()
    page.get_by_role("heading", name="Runs").wait_for()


@pytest.mark.fault(81)
def test_a_hostile_name_is_text_and_nothing_else(tmp_path: Path, runs: Path, open_page: Open) -> None:
    name = "<img src=x onerror=alert(1)>"
    shutil.copytree(runs / "cart-0", tmp_path / "runs" / name)
    with serving("dashboard", "--runs", str(tmp_path / "runs")) as server:
        page = open_page(home(server))
        page.get_by_role("link", name=name).click()
        page.get_by_role("heading", name=name).wait_for()
        assert page.locator("img[src=x]").count() == 0
        page.close()  # before the server ends, of which it would complain
