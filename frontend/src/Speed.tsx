/** How fast, where the time goes, how old gradients are, and what each worker does. */

import { CurveControls, Panels, panelOf, type Panel } from "./Curves";
import { State } from "./Runs";
import type { Details } from "./types";
import { count } from "./words";

export function Speed({ details, again }: { details: Details; again: string }) {
  const names = Object.keys(details.metrics);
  const sections = names.filter((name) => name.startsWith("time/"));
  const single = names.filter((name) => (name.startsWith("speed/") || name.startsWith("async/")) && !name.startsWith("async/lag_share/"));
  const panels: Panel[] = [
    ...single.filter((name) => name.startsWith("speed/")).map((name) => panelOf(details.metrics[name])),
    ...(sections.length ? [{ title: "share of time", metrics: sections, meaning: "of all participants' time" }] : []),
    ...single.filter((name) => name.startsWith("async/")).map((name) => panelOf(details.metrics[name])),
    ...machinePanels(names),
  ];
  const places = details.workers.some((worker) => worker.machine);
  return (
    <>
      <CurveControls />
      <Lags details={details} />
      <Panels runs={[details.summary.name]} panels={panels} again={again} />
      <h2>Workers</h2>
      {details.workers.length === 0 && <p class="soft">This run has not said what its workers do.</p>}
      {details.workers.length > 0 && (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                {["who", ...(places ? ["machine"] : []), "state", "process", "steps", "share of all"].map((title) => (
                  <th key={title} scope="col">{title}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {details.workers.map((worker) => (
                <tr key={`${worker.role} ${worker.rank}`}>
                  <th scope="row">{worker.role} {worker.rank}</th>
                  {places && <td>{worker.machine || "here"}</td>}
                  <td><State state={worker.state} /></td>
                  <td class="number">{worker.pid || "–"}</td>
                  <td class="number">{count(worker.steps)}</td>
                  <td class="number">{((100 * worker.steps) / Math.max(1, details.workers.reduce((sum, each) => sum + each.steps, 0))).toFixed(0)} %</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

/** What each machine of a cluster plays, sends and fetches: one panel for all of them. */
function machinePanels(names: string[]): Panel[] {
  const titles = { steps_per_second: "steps/s by machine", received: "MB/s that machines send", sent: "MB/s of weights that machines fetch" };
  return Object.entries(titles)
    .map(([ending, title]) => ({ title, metrics: names.filter((name) => name.startsWith("machines/") && name.endsWith(`/${ending}`)), meaning: "" }))
    .filter((panel) => panel.metrics.length > 0);
}

/** The newest lag histogram: how many updates were made between playing a rollout and learning from it. */
function Lags({ details }: { details: Details }) {
  const shares = Object.keys(details.metrics)
    .filter((name) => name.startsWith("async/lag_share/"))
    .map((name) => ({ lag: name.slice("async/lag_share/".length), share: details.latest[name] ?? 0 }));
  if (!shares.length) return null;
  const most = Math.max(...shares.map((each) => each.share), 1e-9);
  return (
    <figure class="chart">
      <figcaption><strong>lag</strong> <span class="soft">updates between playing and learning: share of the last rollouts</span></figcaption>
      <ol class="bars">
        {shares.map(({ lag, share }) => (
          <li key={lag}>
            <span class="bar-value">{share ? `${(100 * share).toFixed(0)} %` : ""}</span>
            <meter min={0} max={most} value={share} aria-label={`lag ${lag}`}>{share}</meter>
            <span>{lag}</span>
          </li>
        ))}
      </ol>
    </figure>
  );
}
