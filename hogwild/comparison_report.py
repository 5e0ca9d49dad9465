"""A comparison to look at: its table, its figure, one page of HTML, and all of it as JSON."""

import html
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hogwild.comparison import BOOTSTRAP, NO_BAND, Comparison, Method, Reached
from hogwild.comparison_runs import Course, Speed, at_words, setting_words
from hogwild.errors import RunFolderError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which stay apart for every kind of colour vision; without yellow, too pale for a line.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", "--", ":", "-.")  # once the colours are used up
FEW_PAIRS = 3
INK = "#1f2328"
AXIS_LABELS = {
    "steps": "steps of all environments together",
    "minutes": "minutes of training",
    "updates": "updates of the weights",
    "episodes": "episodes finished",
}


def table_of(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Header and rows: one row for each method."""
    scores = [reached.score for reached in comparison.methods[0].reached]
    header = ["method", "seeds", f"{comparison.score} at {at_words(comparison.at, comparison.by)}", "95 % interval"]
    header += ["steps/s", *(f"reached {score:g}" for score in scores)]
    return header, [_row(method) for method in comparison.methods]


def _row(method: Method) -> list[str]:
    seeds, envs = len(method.courses), len({c.env for c in method.courses})
    return [
        method.label,
        f"{seeds}" if envs == 1 else f"{seeds} in {envs} environments",
        f"{method.value:,.2f}",
        "–" if method.interval is None else f"{method.interval[0]:,.2f} – {method.interval[1]:,.2f}",
        f"{method.steps_per_second:,.0f}",
        *(_reached_words(reached, seeds) for reached in method.reached),
    ]


def _reached_words(reached: Reached, seeds: int) -> str:
    count = f"{reached.seeds} of {seeds}"
    if reached.steps is None or reached.minutes is None:
        return count
    return f"{reached.steps:,.0f} steps, {reached.minutes:.2f} min ({count})"


def verdict_lines(comparison: Comparison) -> list[str]:
    """The verdicts; of many pairs, one by one only those with a winner."""
    pairs = comparison.pairs
    if not pairs:
        return ["One method: there is nothing to compare it with."]
    named = pairs if len(pairs) <= FEW_PAIRS else [pair for pair in pairs if pair.better]
    lines = [f"{pair.verdict}." for pair in named]
    rest = [pair for pair in pairs if pair not in named]
    untested = sum(pair.chance is None for pair in rest)
    if untested:
        lines.append(f"{untested} of {len(pairs)} pairs have one seed or different environments: no verdict.")
    if len(rest) > untested:
        lines.append(f"{len(rest) - untested} of {len(pairs)} pairs are not distinguishable with these seeds.")
    return lines


def speed_table(speeds: Sequence[Speed]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the speed by number of workers."""
    rows = [
        [s.series, f"{s.workers}", f"{s.seeds}", f"{s.steps_per_second:,.0f}", f"{s.relative:.2f} ×"] for s in speeds
    ]
    return ["runs", "workers", "seeds", "steps/s", "of the fewest workers"], rows


def as_json(comparison: Comparison, speeds: Sequence[Speed] = ()) -> dict[str, Any]:
    """Everything, in what JSON knows."""
    return {
        "by": comparison.by,
        "at": comparison.at,
        "score": comparison.score,
        "environments": comparison.environments,
        "methods": [_method_json(method) for method in comparison.methods],
        "pairs": [vars(pair) for pair in comparison.pairs],
        "verdicts": [pair.verdict for pair in comparison.pairs],
        "notes": comparison.notes,
        "speedup": [vars(speed) for speed in speeds],
    }


def _method_json(method: Method) -> dict[str, Any]:
    runs = [_run_json(c, value) for c, value in zip(method.courses, method.values, strict=True)]
    plain = {k: v for k, v in vars(method).items() if k not in ("courses", "values", "reached", "line")}
    return plain | {
        "seeds": len(method.courses),
        "reached": [vars(reached) for reached in method.reached],
        "runs": runs,
        "curve": vars(method.line),
    }


def _run_json(course: Course, value: float) -> dict[str, Any]:
    return {
        "name": course.name,
        "path": course.path,
        "env": course.env,
        "seed": course.settings["seed"],
        "state": course.summary["state"],
        "steps": float(course.axes["steps"][-1]),
        "minutes": float(course.axes["minutes"][-1]),
        "steps_per_second": course.steps_per_second,
        "value": value,
        "command": course.meta.get("command", ""),
        "revision": course.revision,
        "machine": course.meta.get("machine", {}),
    }


def draw(comparison: Comparison, speeds: Sequence[Speed] = ()) -> "Figure":
    """The learning curves, and beside them the speed by number of workers if there is one."""
    from matplotlib.figure import Figure  # loaded here: half a second that only pictures have to spend

    figure = Figure(figsize=(13 if speeds else 8.5, 5), dpi=150, layout="constrained")
    panels = figure.subplots(1, 2 if speeds else 1, squeeze=False, width_ratios=[3, 2] if speeds else [1])[0]
    _draw_curves(panels[0], comparison)
    figure.legend(loc="outside lower left", frameon=False, labelcolor=INK, ncols=1 if _is_wordy(comparison) else 3)
    if speeds:
        _draw_speeds(panels[1], speeds)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["bottom", "left"]].set_color(INK)
        axes.tick_params(colors=INK)
        axes.grid(color="#8c959f", alpha=0.25, linewidth=0.8)
        axes.patch.set_alpha(0)
    return figure


def _is_wordy(comparison: Comparison) -> bool:
    return max(len(method.label) for method in comparison.methods) > 24


def _draw_curves(axes: "Axes", comparison: Comparison) -> None:
    for index, method in enumerate(comparison.methods):
        line, seeds = method.line, len(method.courses)
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index // len(COLOURS) % len(DASHES)]
        label = f"{method.label} ({seeds} seed{'s' if seeds > 1 else ''})"
        if len(line.x) == 1:  # all seeds have only their end in common
            whiskers = [[line.middle[0] - line.low[0]], [line.high[0] - line.middle[0]]]
            axes.errorbar(line.x, line.middle, whiskers, color=colour, marker="o", capsize=4, label=label)
            continue
        axes.plot(line.x, line.middle, color=colour, linestyle=dash, linewidth=2, label=label)
        if line.band != NO_BAND:
            axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.2, linewidth=0)
    place = f"compared at {at_words(comparison.at, comparison.by)}"
    axes.axvline(comparison.at, color="#8c959f", linewidth=1.2, linestyle=":", label=place)
    axes.set_xlabel(AXIS_LABELS[comparison.by], color=INK)
    axes.set_ylabel(f"mean {comparison.score} of the last 100 episodes", color=INK)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.10g}")
    axes.set_title(", ".join(comparison.environments), loc="left", fontweight="bold", color=INK)


def _draw_speeds(axes: "Axes", speeds: Sequence[Speed]) -> None:
    for index, series in enumerate(dict.fromkeys(s.series for s in speeds)):
        points = [s for s in speeds if s.series == series]
        workers, relative = [s.workers for s in points], [s.relative for s in points]
        axes.plot(workers, relative, color=COLOURS[index % len(COLOURS)], marker="o", linewidth=2, label=series)
        for point in points:
            words, place = f"{point.steps_per_second:,.0f}/s", (point.workers, point.relative)
            axes.annotate(words, place, (0, -15), textcoords="offset points", ha="center", fontsize=9, color=INK)
    ends = [min(s.workers for s in speeds), max(s.workers for s in speeds)]
    axes.plot(ends, [1, ends[1] / ends[0]], color="#8c959f", linestyle="--", linewidth=1, label="in proportion")
    axes.set_xticks(sorted({s.workers for s in speeds}))
    axes.set_xlabel("workers", color=INK)
    axes.set_ylabel("speed, times that of the fewest workers", color=INK)
    axes.legend(frameon=False, labelcolor=INK, loc="upper left")
    axes.set_title("speed-up", loc="left", fontweight="bold", color=INK)


def write_png(comparison: Comparison, path: Path, speeds: Sequence[Speed] = ()) -> None:
    """Write the figure as a PNG picture."""
    _guard(path, lambda: draw(comparison, speeds).savefig(path, format="png", facecolor="white"))


def svg_of(comparison: Comparison, speeds: Sequence[Speed] = ()) -> str:
    """The figure as SVG that takes the colour of the text around it, in the dark too."""
    import matplotlib

    drawn = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "hogwild"}):
        draw(comparison, speeds).savefig(drawn, format="svg", transparent=True)
    text = drawn.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    return text.replace(INK, "currentColor").replace("<svg ", '<svg role="img" aria-label="learning curves" ', 1)


def write_html(comparison: Comparison, path: Path, speeds: Sequence[Speed] = ()) -> None:
    """Write everything as one page that needs no other file."""
    page = page_of(comparison, svg_of(comparison, speeds), speeds)
    _guard(path, lambda: path.write_text(page, encoding="utf-8"))


def _guard(path: Path, write: Callable[[], object]) -> None:
    try:
        write()
    except OSError as error:
        raise RunFolderError(f"Cannot write '{path}': {error.strerror}.") from None


STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --paper: #ffffff; --line: #d0d7de; --soft: #57606a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --line: #30363d; --soft: #9198a1; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 70rem;
  margin: 2rem auto; padding: 0 1rem; }
figure { margin: 1rem 0; }
svg { max-width: 100%; height: auto; color: var(--ink); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.3rem 1rem 0.3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
code { font-size: 0.85rem; overflow-wrap: anywhere; }
.verdict { font-size: 1.1rem; }
.notes, footer { color: var(--soft); font-size: 0.9rem; }
"""


def page_of(comparison: Comparison, figure: str, speeds: Sequence[Speed] = ()) -> str:
    """The report as one page of HTML around a figure."""
    title = html.escape(f"Comparison: {', '.join(comparison.environments)}")
    names = list(comparison.methods[0].settings)
    settings = [[m.label, *(setting_words(m.settings[n]) for n in names)] for m in comparison.methods]
    parts = [
        f"<h1>{title}</h1>",
        '<ul class="verdict">' + "".join(f"<li>{html.escape(v)}</li>" for v in verdict_lines(comparison)) + "</ul>",
        f"<figure>{figure}</figure>",
        "<h2>Results</h2>" + _html_table(*table_of(comparison)),
        '<ul class="notes">' + "".join(f"<li>{html.escape(note)}</li>" for note in comparison.notes) + "</ul>",
        "<h2>Pairs</h2>" + _html_table(*_pairs_table(comparison)) if comparison.pairs else "",
        "<h2>Speed by number of workers</h2>" + _html_table(*speed_table(speeds)) if speeds else "",
        "<h2>Settings that differ</h2>" + _html_table(["method", *names], settings) if names else "",
        "<h2>Runs</h2>" + _html_table(*_runs_table(comparison)),
        f"<footer><p>{html.escape(HOW_TO_READ)}</p></footer>",
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>\n' + "\n".join(
        [*filter(None, parts), "</body></html>\n"]
    )


HOW_TO_READ = (
    f"Runs that differ only in their seed are one method. Curves: interquartile mean over seeds, band {BOOTSTRAP} over "
    "seeds. P is the probability that a seed of the first method has a higher return than one of the second, ties "
    "half. A method is called better only if the interval of P leaves out 0.5 and a permutation test agrees "
    "(p ≤ 0.05). Reached: median over all seeds, and how many came there. After Agarwal et al. (2021)."
)


def _pairs_table(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    rows = []
    for pair in comparison.pairs:
        low_high = "–" if pair.interval is None else f"{pair.interval[0]:.2f} – {pair.interval[1]:.2f}"
        figures = ["–" if value is None else f"{value:.2f}" for value in (pair.probability, pair.chance)]
        rows.append([pair.ours, pair.theirs, figures[0], low_high, figures[1], pair.better or "–"])
    return ["first", "second", "P(first > second)", "95 % interval", "permutation p", "better"], rows


def _runs_table(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    header = ["run", "method", "seed", "steps", "minutes", "revision", "command"]
    return header, [
        [c.name, m.label, f"{c.settings['seed']}", *_ends(c), c.revision, str(c.meta.get("command", ""))]
        for m in comparison.methods
        for c in m.courses
    ]


def _ends(course: Course) -> list[str]:
    return [f"{course.axes['steps'][-1]:,.0f}", f"{course.axes['minutes'][-1]:.2f}"]


def _html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(_cell(h, v) for h, v in zip(header, row, strict=True)) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(name: str, value: str) -> str:
    text = html.escape(value)
    return f"<td><code>{text}</code></td>" if name == "command" else f"<td>{text}</td>"
