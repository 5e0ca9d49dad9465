/** How the run was set up, beside the defaults and beside another run. */

import { usePlace } from "./address";
import { useAnswer } from "./server";
import type { Details, Row } from "./types";
import { plain } from "./words";

export function Settings({ details, runs }: { details: Details; runs: Row[] }) {
  const place = usePlace();
  const beside = place.query.get("beside") ?? "";
  const onlyChanged = place.query.get("all") !== "1";
  const { answer, error } = useAnswer<Details>(beside ? `/api/runs/${encodeURIComponent(beside)}` : null);
  const other = answer?.summary.name === beside ? answer : null; // not the one that was beside it before
  const theirs = new Map((other?.settings ?? []).map((setting) => [setting.name, setting.value]));
  const differs = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b);
  const rows = details.settings.map((setting) => ({
    ...setting,
    other: theirs.get(setting.name),
    changed: differs(setting.value, setting.default),
    unlike: other !== null && differs(setting.value, theirs.get(setting.name)),
  }));
  const shown = rows.filter((row) => !onlyChanged || row.changed || row.unlike || row.name === "env");
  return (
    <>
      <div class="bar controls">
        <label>
          <input type="checkbox" checked={onlyChanged} onChange={(e) => place.change({ all: e.currentTarget.checked ? null : "1" })} /> only differences
        </label>
        <label>
          beside{" "}
          <select value={beside} onChange={(e) => place.change({ beside: e.currentTarget.value })}>
            <option value="">no other run</option>
            {runs.filter((row) => row.name !== details.summary.name).map((row) => (
              <option key={row.name}>{row.name}</option>
            ))}
          </select>
        </label>
      </div>
      {error && <p class="error" role="alert">{error}</p>}
      {details.settings.length === 0 && <p class="error">Its config.toml cannot be read.</p>}
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">setting</th>
              <th scope="col">value</th>
              <th scope="col">default here</th>
              {other && <th scope="col">{beside}</th>}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={row.name} class={row.changed || row.unlike ? "changed" : undefined}>
                <th scope="row">{row.name} <span class="soft">{row.group}</span></th>
                <td>{plain(row.value)}</td>
                <td class={row.changed ? "" : "soft"}>{plain(row.default)}</td>
                {other && <td class={row.unlike ? "" : "soft"}>{plain(row.other)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length === 1 && <p class="soft">Everything is as it comes.</p>}
    </>
  );
}
