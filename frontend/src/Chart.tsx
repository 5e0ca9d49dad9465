/** One picture of curves with bands, drawn by uPlot: drag to zoom, shift-drag to pan, double-click for all of it. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { figure, ticks } from "./words";

export interface Line {
  label: string;
  colour: string; // the name of a colour of the style sheet
  x: number[];
  y: (number | null)[];
  low?: (number | null)[];
  high?: (number | null)[];
  dashed?: boolean;
}

export interface Range {
  from: number;
  to: number;
}

interface Props {
  title: string;
  unit?: string;
  meaning?: string;
  legend?: ComponentChildren;
  axis: string;
  lines: Line[];
  range: Range | null;
  onRange: (range: Range | null) => void;
  logX?: boolean;
  logY?: boolean;
  height?: number;
}

const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Draw again when the theme changes. */
function useTheme(): string {
  const [theme, set] = useState(() => css("--theme"));
  useEffect(() => {
    const look = () => set(css("--theme"));
    const media = matchMedia("(prefers-color-scheme: dark)");
    media.addEventListener("change", look);
    const observer = new MutationObserver(look);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      media.removeEventListener("change", look);
      observer.disconnect();
    };
  }, []);
  return theme;
}

/** Curves on a common axis, as uPlot wants them: line, low and high of each. */
function align(lines: Line[], logY: boolean): uPlot.AlignedData {
  const keep = (values: (number | null)[]) => (logY ? values.map((v) => (v !== null && v > 0 ? v : null)) : values);
  const tables = lines.map((line) => {
    const banded = line.low?.length === line.x.length && line.high?.length === line.x.length;
    const none = line.x.map(() => null);
    return [line.x, keep(line.y), keep(banded ? line.low! : none), keep(banded ? line.high! : none)] as uPlot.AlignedData;
  });
  return tables.length ? uPlot.join(tables) : [[]];
}

/** The cursors of all pictures move together; what is dragged in one is its own affair. */
const follows = (type: string) => type !== "mousedown" && type !== "mouseup" && type !== "dblclick";

function options(props: Props, width: number, hooks: uPlot.Hooks.Arrays): uPlot.Options {
  const ink = css("--ink-soft");
  const grid = { stroke: css("--grid"), width: 1 };
  const font = "12px system-ui, sans-serif";
  const short = (_: uPlot, values: (number | null)[]) => ticks(values);
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  for (const line of props.lines) {
    const stroke = css(line.colour);
    const at = series.length;
    const edge = { stroke: "transparent", width: 0, spanGaps: true, points: { show: false } };
    const dash = line.dashed ? [6, 5] : undefined;
    series.push({ label: line.label, stroke, width: line.dashed ? 1.2 : 1.8, dash, spanGaps: true, points: { show: line.x.length < 3 } });
    series.push({ ...edge, label: "low" }, { ...edge, label: "high" });
    bands.push({ series: [at + 2, at + 1], fill: `color-mix(in srgb, ${stroke} 17%, transparent)` });
  }
  return {
    width,
    height: props.height ?? 220,
    legend: { show: false },
    padding: [8, 18, 0, 0], // on the right, room for half of the last number on the axis
    cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 6 }, sync: { key: "curves", filters: { pub: follows, sub: follows } } },
    scales: {
      x: { time: false, distr: props.logX ? 3 : 1 },
      y: { distr: props.logY ? 3 : 1 },
    },
    axes: [
      { stroke: ink, font, grid, ticks: grid, values: short, label: props.axis, labelSize: 20, labelFont: font, size: 36 },
      { stroke: ink, font, grid, ticks: grid, values: short, size: (_, labels) => Math.max(58, 18 + 7.5 * Math.max(0, ...(labels ?? []).map((label) => label.length))) },
    ],
    series,
    bands,
    hooks,
  };
}

export function Chart(props: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const theme = useTheme();
  const [under, setUnder] = useState<string>("");
  const shape = JSON.stringify([theme, props.axis, props.logX, props.logY, props.height, props.lines.map((l) => [l.label, l.colour, l.dashed, l.x.length < 3])]);

  useEffect(() => {
    const place = frame.current!;
    const select = (self: uPlot) => {
      if (self.select.width < 4) return;
      const [from, to] = [self.posToVal(self.select.left, "x"), self.posToVal(self.select.left + self.select.width, "x")];
      self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      latest.current.onRange({ from, to });
    };
    const look = (self: uPlot) => setUnder(valuesUnder(self, latest.current.lines));
    const hooks = { ready: [(self: uPlot) => panning(self, (range) => latest.current.onRange(range))], setSelect: [select], setCursor: [look] };
    const made = new uPlot(options(latest.current, place.clientWidth, hooks), align(latest.current.lines, !!latest.current.logY), place);
    made.over.addEventListener("dblclick", () => latest.current.onRange(null));
    plot.current = made;
    const resize = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: props.height ?? 220 }));
    resize.observe(place);
    return () => {
      resize.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape]);

  useEffect(() => {
    const made = plot.current;
    if (!made) return;
    made.setData(align(props.lines, !!props.logY), false);
    show(made, props);
  }, [props.lines, props.range?.from, props.range?.to, shape]);

  function keys(event: KeyboardEvent) {
    const { min, max } = plot.current?.scales.x ?? {};
    if (min === undefined || max === undefined || min === null || max === null || event.ctrlKey || event.metaKey) return;
    const moves = rangesOfKeys(min, max);
    if (!(event.key in moves)) return;
    event.preventDefault();
    props.onRange(moves[event.key]);
  }

  return (
    <figure class="chart">
      <figcaption>
        <strong title={props.meaning}>{props.title}</strong>
        {props.unit && props.unit !== "1" && <span class="soft"> {props.unit}</span>}
        <output class="under" aria-hidden="true">{under}</output>
        {props.legend}
      </figcaption>
      <div ref={frame} class="canvas" tabIndex={0} role="img" aria-label={spoken(props)} onKeyDown={keys} />
    </figure>
  );
}

/** Shift-drag moves the picture; every other chart follows, since the range is common to all. */
function panning(self: uPlot, onRange: (range: Range) => void): void {
  self.over.addEventListener("pointerdown", (event) => {
    if (!event.shiftKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const { min, max } = self.scales.x as { min: number; max: number };
    const start = event.clientX;
    const width = self.over.clientWidth;
    const move = (moved: PointerEvent) => {
      const by = ((max - min) * (start - moved.clientX)) / width;
      onRange({ from: min + by, to: max + by });
    };
    const end = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  }, { capture: true });
}

/** Where each key leads from what is shown now; null is all of it. */
function rangesOfKeys(min: number, max: number): Record<string, Range | null> {
  const span = max - min;
  const closer = { from: min + span / 5, to: max - span / 5 };
  return {
    ArrowLeft: { from: min - span / 10, to: max - span / 10 },
    ArrowRight: { from: min + span / 10, to: max + span / 10 },
    "+": closer,
    "=": closer,
    "-": { from: min - span / 3, to: max + span / 3 },
    "0": null,
  };
}

/** Scales follow from the range that was asked for, or from all there is. */
function show(plot: uPlot, props: Props): void {
  const xs = plot.data[0];
  if (!xs.length) return;
  const { from, to } = props.range ?? { from: xs[0], to: xs[xs.length - 1] };
  plot.batch(() => {
    plot.setScale("x", { min: props.logX ? Math.max(from, 1e-9) : from, max: to > from ? to : from + 1 });
  });
}

function valuesUnder(plot: uPlot, lines: Line[]): string {
  const index = plot.cursor.idx;
  if (index === null || index === undefined || plot.cursor.left === undefined || plot.cursor.left < 0) return "";
  const values = lines.map((line, number) => {
    const column = plot.data[3 * number + 1] as (number | null | undefined)[];
    for (let distance = 0; distance < 40; distance++)
      for (const place of [index - distance, index + distance])
        if (typeof column[place] === "number") return lines.length > 1 ? `${line.label} ${figure(column[place]!)}` : figure(column[place]!);
    return "";
  });
  return `${figure(plot.data[0][index])}: ${values.filter(Boolean).join(" · ")}`;
}

/** What somebody hears who cannot see the picture. */
function spoken(props: Props): string {
  const lines = props.lines.map((line) => {
    const known = line.y.filter((value): value is number => value !== null);
    if (!known.length) return `${line.label}: nothing yet`;
    const [low, high] = [Math.min(...known), Math.max(...known)];
    return `${line.label}: last ${figure(known[known.length - 1])}, lowest ${figure(low)}, highest ${figure(high)}`;
  });
  return `${props.title} by ${props.axis}. ${lines.join(". ")}. Arrow keys move, plus and minus zoom, 0 shows all.`;
}
