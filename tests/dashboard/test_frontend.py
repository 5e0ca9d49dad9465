"""The page that is part of the package is the one that its sources make."""

import shutil
import subprocess
from pathlib import Path

import hogwild

ROOT = Path(hogwild.__file__).parent.parent
STATIC = ROOT / "hogwild" / "dashboard" / "static"


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_building_it_anew_gives_the_same_files(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "frontend", tmp_path / "frontend", ignore=shutil.ignore_patterns("node_modules"))
    for command in (["npm", "install", "--no-audit", "--no-fund"], ["npm", "run", "build"]):
        done = subprocess.run(command, cwd=tmp_path / "frontend", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    built = files(tmp_path / "hogwild" / "dashboard" / "static")
    assert built.keys() == files(STATIC).keys()
    different = [name for name, content in files(STATIC).items() if built[name] != content]
    assert different == [], "make frontend builds them anew"


def test_the_page_asks_nobody_else_for_anything() -> None:
    for name, content in files(STATIC).items():
        text = content.decode()
        outside = [part[:60] for part in text.split("http")[1:] if part.startswith(("://", "s://"))]
        known = ("://www.w3.org/",)  # names of languages, never fetched
        assert all(part.startswith(known) for part in outside), (name, outside)
