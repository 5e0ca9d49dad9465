"""Recorded inputs as one HTML page that needs nothing else: pictures, numbers, and whether they agree."""

import base64
import html
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from hogwild.config.settings import Settings
from hogwild.images import as_bytes, png
from hogwild.inputs import Recorded
from hogwild.inspection import Check, judge

STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { margin: 2rem auto; max-width: 76rem; padding: 0 1rem }
h1, h2, h3 { line-height: 1.2 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; display: block; overflow-x: auto }
td, th { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #8884 }
td:first-child, th:first-child { text-align: left }
td.picture { text-align: left; padding: .3rem .7rem }
img { image-rendering: pixelated; display: block; border: 1px solid #8886 }
tr.end td { border-bottom: 3px solid #c0392b }
.good { color: #1e8449 } .bad { color: #c0392b; font-weight: 600 }
"""


@dataclass(frozen=True)
class Part:
    """How much of each rollout to show, and how."""

    environments: int
    steps: int
    stacked: bool  # observations are stacks of the last pictures


def page(title: str, checked: list[tuple[Recorded, Recorded, list[Check]]], settings: Settings, part: Part) -> str:
    """All updates with the answers of their checks, and of each rollout the first steps of the first environments."""
    sections, shown = [], set()
    for update, rollout, checks in checked:
        sections.append(_update(update, rollout, checks))
        if rollout.name not in shown:
            shown.add(rollout.name)
            sections.append(_rollout(rollout, settings, part))
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{html.escape(title)}</title><style>{STYLE}</style><h1>{html.escape(title)}</h1>"
        f"<p>What entered the network and the loss, exactly as it was.</p>{''.join(sections)}</html>"
    )


def _update(update: Recorded, rollout: Recorded, checks: Iterable[Check]) -> str:
    verdicts = "".join(
        f"<li class={'good' if check.holds else 'bad'}>{'✓' if check.holds else '✗'} {html.escape(check.question)}"
        f" ({check.looked_at:,} places){': ' + html.escape(', '.join(check.problems)) if check.problems else ''}</li>"
        for check in checks
        if check.looked_at
    )
    about = update.about
    return (
        f"<section><h2>{html.escape(update.name)}</h2><p>At step {about['step']:,}, update {about['number'] + 1} of "
        f"{html.escape(rollout.name)}, by participant {about['rank']}.</p><ul>{verdicts}</ul>"
        f"{_table(('tensor', 'shape', 'kind', 'smallest', 'mean', 'largest'), map(_summary, update.tensors.items()))}"
        "</section>"
    )


def _summary(item: tuple[str, Tensor]) -> tuple[str, ...]:
    name, tensor = item
    values = tensor.double()
    figures = (values.min(), values.mean(), values.max()) if tensor.numel() else ()
    shape = "×".join(map(str, tensor.shape))
    return (name, shape, str(tensor.dtype).removeprefix("torch."), *(f"{float(figure):.4g}" for figure in figures))


def _rollout(rollout: Recorded, settings: Settings, part: Part) -> str:
    tensors, judged = rollout.tensors, judge(rollout, settings)
    count, width = tensors["rewards"].shape
    parts = [f"<section><h2>{html.escape(rollout.name)}</h2>"]
    played = ", ".join(str(each["version"]) for each in rollout.about["played"])
    parts.append(f"<p>{count} steps of {width} environments, played by version {played} of the weights.</p>")
    head = ("step", "observation", "action", "probability", "reward", "value", "target", "advantage", "end")
    for env in range(min(part.environments, width)):
        rows = []
        for t in range(min(part.steps, count)):
            end = "terminated" if tensors["terminated"][t, env] else "truncated" if tensors["truncated"][t, env] else ""
            rows.append(
                (
                    f"{t}{' (first)' if tensors['first'][t, env] else ''}",
                    _observation(tensors["observations"][t, env], t, part.stacked),
                    _action(tensors["actions"][t, env]),
                    f"{float(tensors['log_probs'][t, env].exp()):.3f}",
                    f"{float(tensors['rewards'][t, env]):g}",
                    f"{float(tensors['values'][t, env]):+.3f}",
                    f"{float(judged.target[t, env]):+.3f}" if judged and judged.known[t, env] else "–",
                    f"{float(judged.advantage[t, env]):+.3f}" if judged and judged.known[t, env] else "–",
                    end + (f", then {float(tensors['final_value'][t, env]):+.3f}" if end == "truncated" else ""),
                )
            )
        last = _observation(tensors["observations"][count, env], count, part.stacked)
        bootstrap = f"{float(tensors['values'][count, env]):+.3f}"
        rows.append((f"{count}, bootstrap", last, "", "", "", bootstrap, "", "", ""))
        parts.append(f"<h3>environment {env}</h3>{_table(head, rows)}")
    return "".join(parts) + "</section>"


def _action(action: Tensor) -> str:
    """A choice as it is; of several numbers each."""
    values = action.reshape(-1).tolist()
    return ", ".join(str(v) if isinstance(v, int) else f"{v:+.3f}" for v in values)


def _observation(observation: Tensor, t: int, stacked: bool) -> str:
    """A stack of pictures side by side with their frame numbers, a picture in colour, or the numbers themselves."""
    values = observation.numpy()
    if values.ndim != 3:
        return html.escape(" ".join(f"{value:.3g}" for value in values.ravel()[:12]))
    values = as_bytes(values)
    if not stacked and len(values) == 3:
        shown, words = np.moveaxis(values, 0, -1), f"frame {t}"
    else:
        shown = np.concatenate(list(values), axis=1)
        numbers = [str(t - len(values) + 1 + index) for index in range(len(values))]
        words = f"frames {', '.join(numbers)}" if stacked else f"frame {t}, its channels"
    data = base64.b64encode(png(shown)).decode()
    return f"<img alt='{words}' title='{words}' src='data:image/png;base64,{data}' height=84>"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    lines = []
    for row in rows:
        cells = list(row)
        kind = " class=end" if cells and ("terminated" in cells[-1] or "truncated" in cells[-1]) else ""
        lines.append(
            f"<tr{kind}>{''.join(f'<td class=picture>{c}</td>' if '<img' in c else f'<td>{c}</td>' for c in cells)}"
        )
    return f"<table><tr>{names}</tr>{''.join(lines)}</table>"
