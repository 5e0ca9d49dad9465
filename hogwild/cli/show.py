"""`hogwild show RUN`"""

import json
from dataclasses import dataclass
from typing import Any

from hogwild.cli.arguments import RunName, parse


@dataclass(frozen=True)
class Show:
    """Show one run: how it was made, where it stands, its newest metrics, its checkpoints."""

    run: RunName
    """Name or path of a run, or 'latest', the one that trained last."""
    runs: str = "runs"
    """Folder that holds all runs."""
    json: bool = False
    """Print one JSON object."""


def main(arguments: list[str]) -> int:
    """Show a run."""
    given = parse(Show, "show", arguments)
    from hogwild.runs.find import find_run

    content = gather(find_run(given.run, given.runs))
    if given.json:
        print(json.dumps(content))
    else:
        print_run(content)
    return 0


def gather(folder: Any) -> dict[str, Any]:
    """All there is to show of a run."""
    from hogwild.resolve import read_file
    from hogwild.runs.checkpoint import list_checkpoints
    from hogwild.runs.find import summarise
    from hogwild.runs.folder import read_json
    from hogwild.runs.writers import read_rows

    rows = [row for _, row in read_rows(folder.metrics)]
    status = read_json(folder.status)
    return {
        "path": str(folder.path),
        "summary": summarise(folder),
        "meta": read_json(folder.meta),
        "settings": read_file(folder.config),
        "metrics": rows[-1] if rows else {},
        "returns": [row["episode/return_mean"] for row in rows if "episode/return_mean" in row],
        "checkpoints": [p.name for p in list_checkpoints(folder.checkpoints)],
        "best_checkpoint": status.get("best_checkpoint"),
    }


def print_run(content: dict[str, Any]) -> None:
    """A run for people."""
    from hogwild.cli.words import duration, sparkline
    from hogwild.config.settings import Settings
    from hogwild.runs.metrics import metric_of

    summary, meta, settings = content["summary"], content["meta"], content["settings"]
    environment = meta.get("environment", {})
    print(f"run          {content['path']}  ({summary['state']})")
    if summary["reason"]:
        print(f"ended        {summary['reason'].splitlines()[0]}")
    print(f"command      {meta.get('command', '?')}")
    print(f"environment  {environment.get('id', summary['env'])}")
    if environment.get("protocol"):
        print(f"protocol     {environment['protocol']}")
    git = meta.get("git") or {}
    revision = git.get("revision", "unknown")[:12] + (" + changes" if git.get("diff") else "")
    print(f"made with    {_versions(meta)}, revision {revision}")
    machine = meta.get("machine", {})
    print(f"machine      {machine.get('processor', '?')}, {machine.get('cores', '?')} cores")
    print(f"steps        {summary['steps']:,} in {duration(summary['minutes'] * 60)}")
    if content["returns"]:
        print(
            f"return       {sparkline(content['returns'])}  "
            f"mean {summary['return_mean']:.2f}, best {summary['return_best']:g}"
        )
    plain = Settings().update(env=settings.get("env", "")).flat()
    changed = Settings().update(**settings).flat()
    differing = [f"{k}={_value(v)}" for k, v in changed.items() if v != plain[k] and k not in ("env", "name", "runs")]
    print(f"settings     {', '.join(differing) or 'plain defaults'}")
    print(f"checkpoints  {', '.join(_mark(n, content) for n in content['checkpoints']) or 'none'}")
    width = max(map(len, content["metrics"]), default=0)
    for name, value in content["metrics"].items():
        metric = metric_of(name)
        unit = metric.unit if metric is not None and metric.unit != "1" else ""
        print(f"  {name:<{width}} {_number(value):>14} {unit}".rstrip())


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _mark(name: str, content: dict[str, Any]) -> str:
    return name + (" (best)" if name == content["best_checkpoint"] else "")


def _value(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _versions(meta: dict[str, Any]) -> str:
    versions = meta.get("versions", {})
    return ", ".join(
        f"{name} {versions[name]}" for name in ("hogwild", "python", "torch", "ale-py") if name in versions
    )
