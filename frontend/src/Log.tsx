/** What the doctor says, how the run was made, and its log. */

import { Findings, type Consultation } from "./Doctor";
import type { Details } from "./types";

export function Log({ details, doctor: { visit, error } }: { details: Details; doctor: Consultation }) {
  const { meta } = details;
  const facts: [string, string][] = [
    ["command", meta.command ?? "–"],
    ["started", meta.created ?? "–"],
    ["revision", meta.git ? `${String(meta.git.revision).slice(0, 12)}${meta.git.diff ? ", with changes" : ""}` : "–"],
    ["protocol", meta.environment?.protocol ?? "–"],
    ["machine", meta.machine ? `${meta.machine.processor}, ${meta.machine.cores} cores, ${meta.machine.memory_gb} GB` : "–"],
    ["versions", Object.entries(meta.versions ?? {}).map(([what, version]) => `${what} ${version}`).join(", ") || "–"],
  ];
  return (
    <>
      <h2>Doctor</h2>
      {!visit && !error && <p class="soft">Examining …</p>}
      {(visit?.why || error) && <p>Not examined: {visit?.why || error}</p>}
      {visit && !visit.why && visit.findings.length === 0 && <p>Nothing looks wrong.</p>}
      <Findings visit={visit} />
      <h2>How it was made</h2>
      <dl class="made">
        {facts.map(([what, value]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <h2>Log</h2>
      {details.log ? <pre tabIndex={0}>{details.log}</pre> : <p class="soft">Nothing was logged.</p>}
    </>
  );
}
