/** One run: where it stands, and its parts as tabs. */

import { useMemo } from "preact/hooks";
import { address, joinNames, splitNames, usePlace } from "./address";
import { Checkpoints } from "./Checkpoints";
import { CurveControls, Legend, Panels, panelOf, type Panel } from "./Curves";
import { Remarks, useDoctor } from "./Doctor";
import { Link } from "./Link";
import { Live } from "./Live";
import { Log } from "./Log";
import { State } from "./Runs";
import { useAnswer } from "./server";
import { Settings } from "./Settings";
import { Speed } from "./Speed";
import type { Details, Row } from "./types";
import { count, duration, figure } from "./words";

const TABS = ["curves", "speed", "live", "settings", "checkpoints", "log"];
const SPEED = ["speed", "time", "async", "machines"];

export function Run({ name, runs }: { name: string; runs: Row[] | null }) {
  const place = usePlace();
  const row = runs?.find((each) => each.name === name);
  const again = row ? `${row.state} ${row.steps} ${row.results}` : "";
  const { answer, error } = useAnswer<Details>(`/api/runs/${encodeURIComponent(name)}`, again);
  const doctor = useDoctor(name, again);
  if (error) return <p class="error" role="alert">{error} <Link to="/">All runs</Link></p>;
  if (!answer || answer.summary.name !== name) return <p class="soft">Reading {name} …</p>;
  const summary = row ?? answer.summary;
  const tab = TABS.includes(place.query.get("tab") ?? "") ? place.query.get("tab")! : "curves";
  return (
    <>
      <header class="run">
        <h1>{name}</h1>
        <State state={summary.state} />
        <dl class="facts">
          <Fact name="environment" value={summary.env} />
          <Fact name="steps" value={count(summary.steps)} />
          <Fact name="time" value={duration(summary.minutes * 60)} />
          <Fact name="mean return" value={figure(summary.return_mean)} />
          <Fact name="best" value={figure(summary.return_best)} />
          <Fact name="steps/s" value={figure(answer.latest["speed/steps_per_second"])} />
        </dl>
      </header>
      <Remarks visit={doctor.visit} />
      <nav class="tabs" aria-label="parts of the run">
        {TABS.map((each) => (
          <Link key={each} to={address(place.path, { tab: each === "curves" ? null : each }, place.query)} aria-current={each === tab ? "page" : undefined}>
            {each}
          </Link>
        ))}
      </nav>
      {tab === "curves" && <Learning details={answer} again={again} runs={runs ?? []} />}
      {tab === "speed" && <Speed details={answer} again={again} />}
      {tab === "live" && <Live name={name} details={answer} isTraining={summary.state === "training"} />}
      {tab === "settings" && <Settings details={answer} runs={runs ?? []} />}
      {tab === "checkpoints" && <Checkpoints details={answer} />}
      {tab === "log" && <Log details={answer} doctor={doctor} />}
    </>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Learning({ details, again, runs }: { details: Details; again: string; runs: Row[] }) {
  const place = usePlace();
  const name = details.summary.name;
  const others = splitNames(place.query.get("with"));
  const panels = useMemo<Panel[]>(
    () =>
      Object.values(details.metrics)
        .filter((metric) => !["progress", ...SPEED].includes(metric.name.split("/")[0]) && metric.name !== "episode/count")
        .map(panelOf),
    [Object.keys(details.metrics).join()],
  );
  const rest = runs.filter((row) => row.name !== name && !others.includes(row.name));
  return (
    <>
      <CurveControls>
        <label>
          with{" "}
          <select value="" onChange={(e) => place.change({ with: joinNames([...others, e.currentTarget.value]) })}>
            <option value="">another run …</option>
            {rest.map((row) => (
              <option key={row.name}>{row.name}</option>
            ))}
          </select>
        </label>
        {others.length > 0 && <button onClick={() => place.change({ with: null })}>Alone</button>}
      </CurveControls>
      {others.length > 0 && <Legend names={[name, ...others]} />}
      <Panels runs={[name, ...others]} panels={panels} again={again} reference={details.reference} />
    </>
  );
}
