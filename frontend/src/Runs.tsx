/** The table of runs. */

import { useEffect, useRef } from "preact/hooks";
import { address, joinNames, splitNames, usePlace } from "./address";
import { Link } from "./Link";
import { Spark } from "./Spark";
import type { Row } from "./types";
import { count, figure } from "./words";

const COLUMNS: [keyof Row, string][] = [
  ["name", "run"],
  ["env", "environment"],
  ["state", "state"],
  ["steps", "steps"],
  ["minutes", "minutes"],
  ["return_mean", "mean return"],
  ["return_best", "best"],
  ["created", "started"],
];

/** Rows in the order of a column, what is not known last. */
function sorted(rows: Row[], by: string): Row[] {
  const column = by.replace(/^-/, "") as keyof Row;
  const sign = by.startsWith("-") ? -1 : 1;
  const known = rows.filter((row) => row[column] !== null);
  const order = (a: Row, b: Row) => (a[column]! < b[column]! ? -sign : a[column]! > b[column]! ? sign : 0);
  return [...known.sort(order), ...rows.filter((row) => row[column] === null)];
}

export function State({ state }: { state: string }) {
  return <span class={`state ${state}`}>{state}</span>;
}

export function Runs({ runs }: { runs: Row[] | null }) {
  const place = usePlace();
  const filter = useRef<HTMLInputElement>(null);
  const wanted = (place.query.get("filter") ?? "").toLowerCase();
  const by = place.query.get("sort") ?? "-created";
  const chosen = new Set(splitNames(place.query.get("chosen")));

  useEffect(() => {
    const find = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
      event.preventDefault();
      filter.current?.focus();
    };
    addEventListener("keydown", find);
    return () => removeEventListener("keydown", find);
  }, []);

  if (!runs) return <p class="soft">Reading runs …</p>;
  const rows = sorted(runs.filter((row) => `${row.name} ${row.env} ${row.state}`.toLowerCase().includes(wanted)), by);
  const choose = (name: string) => {
    if (!chosen.delete(name)) chosen.add(name);
    place.change({ chosen: joinNames(chosen) });
  };
  return (
    <>
      <div class="bar">
        <h1>Runs</h1>
        <label class="grow">
          <span class="hidden">Filter runs</span>
          <input ref={filter} type="search" placeholder="filter by name, environment or state  ( / )" value={place.query.get("filter") ?? ""} onInput={(e) => place.change({ filter: e.currentTarget.value })} />
        </label>
        {chosen.size > 0 && (
          <Link class="button" to={address("/compare", { runs: joinNames(chosen) })}>
            Compare {chosen.size}
          </Link>
        )}
      </div>
      {runs.length === 0 && <p>No runs in this folder yet. <code>hogwild train pong</code> makes one, and it appears here at once.</p>}
      {runs.length > 0 && (
        <div class="scroll">
          <table class="runs">
            <Head by={by} onSort={(sort) => place.change({ sort })} />
            <tbody>
              {rows.map((row) => (
                <RunRow key={row.name} row={row} isChosen={chosen.has(row.name)} onChoose={() => choose(row.name)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {runs.length > 0 && rows.length === 0 && <p class="soft">No run matches.</p>}
    </>
  );
}

function Head({ by, onSort }: { by: string; onSort: (sort: string) => void }) {
  return (
    <thead>
      <tr>
        <th scope="col"><span class="hidden">choose</span></th>
        {COLUMNS.map(([column, title]) => (
          <th key={column} scope="col" aria-sort={by === column ? "ascending" : by === `-${column}` ? "descending" : "none"}>
            <button class="plain" onClick={() => onSort(by === `-${column}` ? column : `-${column}`)}>
              {title}
              {by === column ? " ↑" : by === `-${column}` ? " ↓" : ""}
            </button>
          </th>
        ))}
        <th scope="col">curve</th>
      </tr>
    </thead>
  );
}

function RunRow({ row, isChosen, onChoose }: { row: Row; isChosen: boolean; onChoose: () => void }) {
  return (
    <tr>
      <td><input type="checkbox" aria-label={`choose ${row.name}`} checked={isChosen} onChange={onChoose} /></td>
      <th scope="row"><Link to={`/run/${encodeURIComponent(row.name)}`}>{row.name}</Link></th>
      <td>{row.env}</td>
      <td><State state={row.state} /></td>
      <td class="number">{count(row.steps)}</td>
      <td class="number">{row.minutes.toFixed(1)}</td>
      <td class="number">{figure(row.return_mean)}</td>
      <td class="number">{figure(row.return_best)}</td>
      <td class="soft">{row.created.slice(0, 16).replace("T", " ")}</td>
      <td><Spark points={row.spark} label={`mean returns of ${row.name}`} /></td>
    </tr>
  );
}
