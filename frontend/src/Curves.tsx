/** Curves of one or several runs: which axis, how smooth, which part of it; all of that in the address. */

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { joinNames, usePlace, type Place } from "./address";
import { Chart, type Line, type Range } from "./Chart";
import { useAnswer } from "./server";
import type { Curve, Details, Metric } from "./types";

export const AXES = ["steps", "minutes", "updates", "episodes"];
export const colour = (number: number): string => `--line-${number % 8}`;
const SETTLED = 180; // milliseconds without a movement before finer curves are asked for

export function CurveControls({ children }: { children?: ComponentChildren }) {
  const place = usePlace();
  const smooth = Number(place.query.get("smooth") ?? 0);
  const box = (name: string, title: string) => (
    <label>
      <input type="checkbox" checked={place.query.get(name) === "1"} onChange={(e) => place.change({ [name]: e.currentTarget.checked })} /> {title}
    </label>
  );
  return (
    <div class="bar controls">
      <label>
        by{" "}
        <select value={place.query.get("by") ?? "steps"} onChange={(e) => place.change({ by: e.currentTarget.value === "steps" ? null : e.currentTarget.value, from: null, to: null })}>
          {AXES.map((axis) => (
            <option key={axis}>{axis}</option>
          ))}
        </select>
      </label>
      <label>
        smooth <input type="range" min="0" max="0.99" step="0.01" value={smooth} onInput={(e) => place.change({ smooth: Number(e.currentTarget.value) || null })} /> <output>{smooth.toFixed(2)}</output>
      </label>
      {box("logx", "log axis")}
      {box("logy", "log values")}
      {children}
      {place.query.has("from") && <button onClick={() => place.change({ from: null, to: null })}>Show all</button>}
    </div>
  );
}

/** The range in the address follows the one on the screen when it has settled. */
function useRange(place: Place): [Range | null, Range | null, (range: Range | null) => void] {
  const told = place.query.has("from") ? { from: Number(place.query.get("from")), to: Number(place.query.get("to")) } : null;
  const [shown, show] = useState<Range | null>(told);
  const timer = useRef(0);
  useEffect(() => show(told), [told?.from, told?.to]);
  const change = (range: Range | null) => {
    show(range);
    clearTimeout(timer.current);
    const digits = (value: number) => Number(value.toPrecision(6));
    timer.current = setTimeout(() => place.change(range ? { from: digits(range.from), to: digits(range.to) } : { from: null, to: null }), range ? SETTLED : 0);
  };
  return [shown, told, change];
}

export interface Panel {
  title: string;
  metrics: string[];
  unit?: string;
  meaning?: string;
  height?: number;
}

/** A panel for each metric; those of one prefix can share one. */
export const panelOf = (metric: Metric): Panel => ({ title: metric.name, metrics: [metric.name], unit: metric.unit, meaning: metric.meaning });

interface Props {
  runs: string[];
  panels: Panel[];
  again: unknown; // changes when there is more to draw
  reference?: Details["reference"];
}

export function Panels({ runs, panels, again, reference }: Props) {
  const place = usePlace();
  const by = place.query.get("by") ?? "steps";
  const [shown, told, change] = useRange(place);
  const together = place.query.get("seeds") === "together";
  const query = useMemo(() => {
    const words = new URLSearchParams({ runs: joinNames(runs), metrics: panels.flatMap((p) => p.metrics).join(","), by, points: "600" });
    if (place.query.get("smooth")) words.set("smooth", place.query.get("smooth")!);
    if (place.query.get("logx") === "1") words.set("log", "1");
    if (together) words.set("seeds", "together");
    if (told) {
      // More than the screen shows, so that there is something to see while it is being moved.
      const margin = (told.to - told.from) / 2;
      words.set("from", String(told.from - margin));
      words.set("to", String(told.to + margin));
      words.set("points", "1200");
    }
    return words.toString();
  }, [runs.join(","), panels.map((p) => p.metrics.join(",")).join(";"), place.query.toString()]);
  const { answer, error } = useAnswer<Curve[]>(`/api/curves?${query}`, again);
  const drawn = useMemo(() => panels.map((panel) => linesOf(panel, answer ?? [], runs, by === "steps" ? reference : null)), [answer, reference, by, runs.join(","), panels.map((p) => p.title).join()]);
  if (error) return <p class="error" role="alert">{error}</p>;
  if (!answer) return <p class="soft">Reading curves …</p>;
  return (
    <div class="panels">
      {panels.map((panel, number) => (
        <Chart key={panel.title} {...panel} legend={panel.metrics.length > 1 && <Legend names={panel.metrics.map((metric) => metric.split("/").pop()!)} />} axis={by} lines={drawn[number] ?? []} range={shown} onRange={change} logX={place.query.get("logx") === "1"} logY={place.query.get("logy") === "1"} />
      ))}
    </div>
  );
}

/** The lines of a panel; several metrics of one run have a colour each, several runs, too. */
function linesOf(panel: Panel, curves: Curve[], runs: string[], reference?: Details["reference"]): Line[] {
  const lines: Line[] = [];
  const mine = curves.filter((curve) => panel.metrics.includes(curve.metric) && curve.x.length);
  for (const curve of mine) {
    const several = panel.metrics.length > 1;
    const name = curve.runs.length > 1 ? `${curve.runs[0]} and ${curve.runs.length - 1} more` : curve.runs[0];
    const label = several ? (runs.length > 1 ? `${name} ${curve.metric}` : curve.metric.split("/").pop()!) : name;
    lines.push({ ...curve, label, colour: colour(several ? panel.metrics.indexOf(curve.metric) : runs.indexOf(curve.runs[0])) });
  }
  if (reference && panel.metrics[0].startsWith("episode/return")) {
    const last = Math.max(0, ...mine.map((curve) => curve.x[curve.x.length - 1]));
    const until = reference.steps.findIndex((step) => step > last);
    const part = <T,>(values: T[]) => (until < 0 ? values : values.slice(0, until + 1));
    lines.push({ label: "our own runs", colour: "--ink-soft", dashed: true, x: part(reference.steps), y: part(reference.middle), low: part(reference.low), high: part(reference.high) });
  }
  return lines;
}

/** Names in the order of the colours. */
export function Legend({ names }: { names: string[] }) {
  return (
    <ul class="legend">
      {names.map((name, number) => (
        <li key={name}>
          <span class={`key line-${number % 8}`} /> {name}
        </li>
      ))}
    </ul>
  );
}
