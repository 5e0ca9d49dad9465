/** Checkpoints, with buttons to evaluate and to film them, and the films. */

import { useEffect, useState } from "preact/hooks";
import { ask, tell } from "./server";
import type { Checkpoint, Details, Evaluation, Job } from "./types";
import { count, duration, figure } from "./words";

const words = (each: Evaluation) =>
  `${figure(each.mean)}${each.interval_95 === null ? "" : ` ± ${figure(each.interval_95)}`} (${each.episodes} games, ${each.actions})`;

export function Checkpoints({ details }: { details: Details }) {
  const name = details.summary.name;
  const [games, setGames] = useState("30");
  const [greedy, setGreedy] = useState(false);
  const [trouble, setTrouble] = useState("");
  const [jobs, follow] = useJobs(name);
  const start = (kind: string, checkpoint: string) =>
    tell<Job>(`/api/runs/${encodeURIComponent(name)}/jobs`, { kind, checkpoint, episodes: Math.round(Number(games)) || 1, greedy }).then(
      () => {
        setTrouble("");
        follow();
      },
      (error: Error) => setTrouble(error.message),
    );
  return (
    <>
      <div class="bar controls">
        <label>
          games <input type="number" min="1" max="1000" value={games} onInput={(e) => setGames(e.currentTarget.value)} />
        </label>
        <label>
          <input type="checkbox" checked={greedy} onChange={(e) => setGreedy(e.currentTarget.checked)} /> always the most probable action
        </label>
      </div>
      {trouble && <p class="error" role="alert">{trouble}</p>}
      {details.checkpoints.length === 0 && <p class="soft">No checkpoint yet.</p>}
      {details.checkpoints.length > 0 && (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                {["step", "MB", "evaluations", "do"].map((title) => (
                  <th key={title} scope="col">{title}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {details.checkpoints.map((checkpoint) => (
                <CheckpointRow key={checkpoint.name} checkpoint={checkpoint} onStart={(kind) => start(kind, checkpoint.name)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p class="hidden" role="status">{jobs.map((job) => `${describe(job)}: ${job.state}`).slice(-1)}</p>
      {jobs.filter((job) => job.state !== "done").map((job) => (
        <JobLine key={job.number} job={job} onCancel={() => tell(`/api/jobs/${job.number}/cancel`).then(follow, (error: Error) => setTrouble(error.message))} />
      ))}
      <Films name={name} videos={details.videos} />
    </>
  );
}

function CheckpointRow({ checkpoint, onStart }: { checkpoint: Checkpoint; onStart: (kind: string) => void }) {
  return (
    <tr>
      <th scope="row">{count(checkpoint.steps)} {checkpoint.is_best && <span class="state finished">best</span>}</th>
      <td class="number">{checkpoint.megabytes}</td>
      <td>{checkpoint.evaluations.map((each, number) => <div key={number}>{words(each)}</div>)}</td>
      <td class="actions">
        <button onClick={() => onStart("evaluate")} aria-label={`Evaluate step ${checkpoint.steps}`}>Evaluate</button>
        <button onClick={() => onStart("film")} aria-label={`Film step ${checkpoint.steps}`}>Film</button>
      </td>
    </tr>
  );
}

function Films({ name, videos }: { name: string; videos: string[] }) {
  return (
    <>
      {videos.length > 0 && <h2>Films</h2>}
      <div class="films">
        {videos.map((video) => (
          <figure key={video}>
            <video controls preload="metadata" src={`/api/runs/${encodeURIComponent(name)}/videos/${encodeURIComponent(video)}`} />
            <figcaption>{video}</figcaption>
          </figure>
        ))}
      </div>
    </>
  );
}

const describe = (job: Job) => `${job.kind === "film" ? "Filming" : "Evaluating"} step ${count(Number(job.checkpoint))}`;

function JobLine({ job, onCancel }: { job: Job; onCancel: () => void }) {
  const open = job.state === "waiting" || job.state === "working";
  return (
    <p class={job.state === "failed" ? "error" : ""}>
      {describe(job)}: {job.state}
      {job.state === "working" && job.kind === "evaluate" && (
        <>
          {" "}
          <progress max={job.episodes} value={job.done} /> {job.done} of {job.episodes} games
          {job.left !== null && `, ${duration(job.left)} left`}
        </>
      )}
      {job.error && ` – ${job.error}`} {open && <button onClick={onCancel}>Cancel</button>}
    </p>
  );
}

/** The jobs of a run, followed while one of them is open. */
function useJobs(run: string): [Job[], () => void] {
  const [jobs, set] = useState<Job[]>([]);
  const [round, next] = useState(0);
  useEffect(() => {
    let [alive, timer] = [true, 0];
    const look = () =>
      ask<Job[]>("/api/jobs")
        .then((all) => {
          const mine = all.filter((job) => job.run === run);
          if (alive) set(mine);
          return mine.some((job) => job.state === "waiting" || job.state === "working");
        }, () => true)
        .then((open) => {
          if (alive && open) timer = setTimeout(look, 700);
        });
    look();
    return () => {
      alive = false;
      clearTimeout(timer);
    };
  }, [run, round]);
  return [jobs, () => next((number) => number + 1)];
}
