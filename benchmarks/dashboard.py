"""Does the dashboard feel instant? A folder of 100 runs with ten million steps each, in a real browser.

    python benchmarks/dashboard.py            # needs Chromium and the package playwright

Makes the runs by copying and stretching a short real one, opens the table and then one run, and measures three times:
seconds to the first picture (of the table, and of a run's curves), frames a second while a picture is being moved, and
the memory of the server. Writes `benchmarks/results/dashboard.json`.
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from pages import ROOT
from playwright.sync_api import Page, sync_playwright

import hogwild
from hogwild.runs.writers import EPISODE_COLUMNS

OUTPUT = ROOT / "benchmarks" / "results" / "dashboard.json"
RUNS, STEPS, ROWS, GAMES, ROUNDS = 100, 10_000_000, 2_000, 5_000, 3
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"]


def make_runs(folder: Path) -> None:
    """One real run of a few seconds, and copies of it that look like ten million steps."""
    run = hogwild.train("CartPole-v1", runs=str(folder), name="run-000", steps=20_000, log_seconds=0.05)
    rows = run.metrics()
    for number in range(RUNS):
        copy = folder / f"run-{number:03d}"
        if number:
            shutil.copytree(run.path, copy)
        generator = random.Random(number)
        with open(copy / "metrics.jsonl", "w") as file:
            for index in range(1, ROWS + 1):
                row = dict(rows[min(len(rows) - 1, 1 + index * len(rows) // ROWS)])
                row["progress/steps"], row["progress/seconds"] = STEPS * index // ROWS, index * 2.0
                row["progress/updates"] = row["progress/steps"] // 256
                row["episode/return_mean"] = 500 * index / ROWS + generator.gauss(0, 20)
                file.write(json.dumps(row) + "\n")
        with open(copy / "episodes.csv", "w") as file:
            file.write(",".join(EPISODE_COLUMNS) + "\n")
            for index in range(GAMES):
                score = round(max(9.0, generator.gauss(500 * index / GAMES, 60)))
                file.write(f"{STEPS * index // GAMES},{index * ROWS * 2 / GAMES:.1f},{index % 2},{score},{score}\n")
        status = json.loads((copy / "status.json").read_text()) | {"steps": STEPS, "seconds": ROWS * 2.0}
        (copy / "status.json").write_text(json.dumps(status))


def seconds_until(page: Page, address: str, selector: str) -> float:
    """Seconds from asking for a page to seeing a part of it."""
    started = time.perf_counter()
    page.goto(address)
    page.locator(selector).first.wait_for()
    return time.perf_counter() - started


def frames_while_moving(page: Page) -> float:
    """Frames a second that the browser draws while a zoomed picture is moved for two seconds."""
    box = page.locator(".u-over").first.bounding_box()
    assert box is not None
    page.evaluate("() => { window.frames_ = 0; const f = () => { window.frames_++; requestAnimationFrame(f) }; f() }")
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    page.mouse.down()
    before, started = page.evaluate("() => window.frames_"), time.perf_counter()
    while (passed := time.perf_counter() - started) < 2.0:
        page.mouse.move(box["x"] + box["width"] / 2 + 150 * ((passed * 2) % 1 - 0.5), box["y"] + 40)
    frames = page.evaluate("() => window.frames_") - before
    page.mouse.up()
    page.keyboard.up("Shift")
    return float(frames / (time.perf_counter() - started))


def measure(folder: Path, chromium: str) -> dict[str, Any]:
    """One round, with a server and a browser that know nothing yet."""
    command = [sys.executable, "-m", "hogwild", "dashboard", "--runs", str(folder), "--port", "0", "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        base = server.stdout.readline().split()[1].rstrip("/")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto("about:blank")
            found = {"table": seconds_until(page, base, "tbody tr")}
            found["curves"] = seconds_until(page, f"{base}/run/run-042", ".uplot canvas")
            others = ",".join(f"run-{number:03d}" for number in range(10))
            found["ten runs"] = seconds_until(page, f"{base}/compare?runs={others}", ".uplot canvas")
            page.goto(f"{base}/run/run-042?from=2000000&to=6000000")
            page.locator(".uplot canvas").first.wait_for()
            found["frames a second"] = frames_while_moving(page)
            browser.close()
        found["megabytes"] = psutil.Process(server.pid).memory_info().rss / 1e6
        return {name: round(value, 3) for name, value in found.items()}
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chromium", default=shutil.which("chromium"), help="the browser")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "runs"
        make_runs(folder)
        rounds = [measure(folder, given.chromium) for _ in range(ROUNDS)]
    medians = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    print(json.dumps({"median": medians, "rounds": rounds}, indent=1))
    OUTPUT.write_text(json.dumps({"median": medians, "rounds": rounds}, indent=1) + "\n")


if __name__ == "__main__":
    main()
