"""Where the browser is, if there is one."""

import os
import shutil

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MUST_BE_THERE = bool(os.environ.get("CI"))
FLAGS = [
    "--no-sandbox",  # tests may be run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
