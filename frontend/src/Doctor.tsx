/** What looks wrong with a run, in words. */

import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "./server";
import type { Visit } from "./types";
import { count } from "./words";

const ROUND = 20_000; // milliseconds between two visits of the doctor
const FIRST = 1_000; // and before the first: the doctor reads all of a run, and what is to be seen comes before

export interface Consultation {
  visit: Visit | null;
  error: string;
}

export function useDoctor(name: string, again: string): Consultation {
  const [comes, come] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => come(true), FIRST);
    return () => clearTimeout(timer);
  }, []);
  const { answer, error } = useAnswer<Visit>(comes ? `/api/runs/${encodeURIComponent(name)}/doctor` : null, again, ROUND);
  return { visit: answer, error };
}

export function Findings({ visit }: { visit: Visit | null }) {
  return (
    <ul class="findings">
      {visit?.findings.map((finding) => (
        <li key={finding.rule}>
          <strong>{finding.rule}</strong> since step {count(finding.step)}: {finding.what}. <em>Try {finding.advice}.</em>
        </li>
      ))}
    </ul>
  );
}

/** Above all parts of a run, as long as there is something to say. */
export function Remarks({ visit }: { visit: Visit | null }) {
  const number = visit?.findings.length ?? 0;
  if (!number) return null;
  return (
    <details class="remarks">
      <summary>The doctor has {number === 1 ? "a remark" : `${number} remarks`}</summary>
      <Findings visit={visit} />
    </details>
  );
}
