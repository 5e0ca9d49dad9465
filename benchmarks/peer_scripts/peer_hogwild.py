"""Hogwild itself, measured as the peers are: steps that were learned from, by the clock, after a warm-up."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from meter import arguments


def main() -> None:
    parser = arguments(argparse.ArgumentParser())
    parser.add_argument("--env", default="pong")
    given, flags = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as runs:
        minutes = str((given.warm_up + given.seconds + 1) / 60)
        place = ["--runs", runs, "--name", "speed", "--quiet", "--log-seconds", "0.5", "--minutes", minutes]
        subprocess.run([sys.executable, "-m", "hogwild", "train", given.env, *place, *flags], check=True)
        rows = [json.loads(line) for line in (Path(runs) / "speed" / "metrics.jsonl").read_text().splitlines()]
    times = [row["progress/seconds"] for row in rows]
    first = next(number for number, seconds in enumerate(times) if seconds >= given.warm_up)
    last = next(number for number, seconds in enumerate(times) if seconds >= times[first] + given.seconds)
    steps = rows[last]["progress/steps"] - rows[first]["progress/steps"]
    print(json.dumps({"steps": steps, "seconds": round(times[last] - times[first], 2)}))


if __name__ == "__main__":
    main()
