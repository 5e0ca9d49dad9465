/** Several runs in the same pictures. */

import { splitNames, usePlace } from "./address";
import { CurveControls, Legend, Panels, panelOf } from "./Curves";
import { Link } from "./Link";
import { useAnswer } from "./server";
import type { Details, Row } from "./types";

const FIRST = ["episode/return", "episode/return_mean"];

export function Compare({ runs }: { runs: Row[] | null }) {
  const place = usePlace();
  const names = splitNames(place.query.get("runs"));
  const { answer, error } = useAnswer<Details>(names.length ? `/api/runs/${encodeURIComponent(names[0])}` : null);
  const rows = (runs ?? []).filter((row) => names.includes(row.name));
  const again = rows.map((row) => `${row.state} ${row.steps}`).join(",");
  if (!names.length) return <p>Choose runs in the <Link to="/">table</Link> to compare them.</p>;
  if (error) return <p class="error" role="alert">{error}</p>;
  if (!answer) return <p class="soft">Reading …</p>;
  const known = Object.values(answer.metrics).filter((m) => !m.name.startsWith("progress/") && !m.name.startsWith("async/lag_share"));
  const metrics = [...known.filter((m) => FIRST.includes(m.name)), ...known.filter((m) => !FIRST.includes(m.name))];
  return (
    <>
      <div class="bar"><h1>Compare</h1><Legend names={names} /></div>
      <CurveControls>
        <label>
          <input type="checkbox" checked={place.query.get("seeds") === "together"} onChange={(e) => place.change({ seeds: e.currentTarget.checked ? "together" : null })} /> seeds together
        </label>
      </CurveControls>
      <Panels runs={names} panels={metrics.map(panelOf)} again={again} />
    </>
  );
}
