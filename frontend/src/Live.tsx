/** The game as it is played now, and the agent's eyes. */

import { useEffect, useRef, useState } from "preact/hooks";
import { usePlace } from "./address";
import { Spark } from "./Spark";
import { tell, useStream } from "./server";
import type { Details, Scene } from "./types";
import { figure } from "./words";

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
const REMEMBERED = 200; // values

export function Live({ name, details, isTraining }: { name: string; details: Details; isTraining: boolean }) {
  const place = usePlace();
  const asked = place.query.get("view") ?? "";
  const workers = details.workers.filter((worker) => worker.role === "worker").map((worker) => worker.rank);
  const ranks = workers.length ? workers : [0];
  const view = asked.startsWith("worker-") && isTraining ? asked : asked === "spectator" || !isTraining ? "spectator" : `worker-${ranks[0]}`;
  const saliency = place.query.get("saliency") === "1";
  const layers = place.query.get("layers") === "1";
  const [scene, setScene] = useState<Scene | null>(null);
  const [values, setValues] = useState<[number, number][]>([]);
  const [paused, setPaused] = useState(false);
  const [speed, setSpeed] = useState(1);
  const spectator = useRef<number | null>(null);

  const base = `/api/runs/${encodeURIComponent(name)}`;
  const [allowed, allow] = useState(!details.imports);
  const held = view === "spectator" && !allowed;
  const path = held ? null : view === "spectator" ? `${base}/spectator` : `${base}/worker/${view.slice(7)}`;
  const { open, error, retry } = useStream<Scene>(path, (heard) => {
    if (heard.spectator !== undefined) {
      spectator.current = heard.spectator;
      return command();
    }
    if (paused && view !== "spectator") return;
    setScene(heard);
    setValues((before) => [...before.slice(1 - REMEMBERED), [(before[before.length - 1]?.[0] ?? 0) + 1, heard.value]]);
  });
  const command = () => {
    if (view === "spectator" && spectator.current !== null)
      tell(`/api/spectators/${spectator.current}`, { speed, paused, saliency, layers }).catch(() => {});
  };
  useEffect(command, [speed, paused, saliency, layers]);
  useEffect(() => {
    setScene(null);
    setValues([]);
    spectator.current = null;
  }, [path]);

  const keys = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.target instanceof HTMLElement && ["INPUT", "SELECT", "BUTTON", "A"].includes(event.target.tagName)) return;
    if (event.key === " ") {
      event.preventDefault();
      setPaused(!paused);
    }
    if (event.key === "+" || event.key === "=") setSpeed(SPEEDS[Math.min(SPEEDS.indexOf(speed) + 1, SPEEDS.length - 1)]);
    if (event.key === "-") setSpeed(SPEEDS[Math.max(SPEEDS.indexOf(speed) - 1, 0)]);
  };

  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent) => latest.current(event);
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);

  return (
    <div class="live">
      <div class="bar controls">
        <label>
          show{" "}
          <select value={view} onChange={(e) => place.change({ view: e.currentTarget.value })}>
            {isTraining && ranks.map((rank) => <option key={rank} value={`worker-${rank}`}>worker {rank}: what it plays now</option>)}
            <option value="spectator">spectator: a game of its own, in colour</option>
          </select>
        </label>
        <button onClick={() => setPaused(!paused)} aria-pressed={paused}>{paused ? "Go on" : "Pause"}</button>
        {view === "spectator" && <SpectatorControls speed={speed} onSpeed={setSpeed} />}
      </div>
      {error && <p class="error" role="alert">{error} <button onClick={retry}>Try again</button></p>}
      {held && (
        <p>
          Its environment is in the module <code>{details.imports}</code>, which looking at a run does not import.{" "}
          <button onClick={() => tell(`${base}/spectator`).then(() => allow(true))}>Import it and play</button>
        </p>
      )}
      {!scene && !error && !held && <p class="soft">{open ? "Waiting for the first moment …" : "Connecting …"}</p>}
      {scene && (
        <div class="stage">
          <Screen scene={scene} />
          <Thoughts scene={scene} values={values} />
        </div>
      )}
      {scene && <Layers scene={scene} />}
    </div>
  );
}

function SpectatorControls({ speed, onSpeed }: { speed: number; onSpeed: (speed: number) => void }) {
  const place = usePlace();
  const box = (name: string, title: string) => (
    <label>
      <input type="checkbox" checked={place.query.get(name) === "1"} onChange={(e) => place.change({ [name]: e.currentTarget.checked })} /> {title}
    </label>
  );
  return (
    <>
      <label>
        speed{" "}
        <select value={speed} onChange={(e) => onSpeed(Number(e.currentTarget.value))}>
          {SPEEDS.map((each) => <option key={each} value={each}>{each}×</option>)}
        </select>
      </label>
      {box("saliency", "where it looks")}
      {box("layers", "its layers")}
    </>
  );
}

/** What enters the network, and what each layer makes of it. */
function Layers({ scene }: { scene: Scene }) {
  return (
    <>
      {scene.stack && (
        <figure class="chart">
          <figcaption><strong>what the network sees</strong> <span class="soft">{scene.stacked} pictures, the newest on the right</span></figcaption>
          <img class="pixels wide" src={scene.stack} alt="the stacked pictures of the observation" />
        </figure>
      )}
      {scene.layers?.map((layer) => (
        <figure class="chart" key={layer.name}>
          <figcaption><strong>{layer.name}</strong> <span class="soft">{layer.shape.join(" × ")}</span></figcaption>
          <img class="pixels wide" src={layer.picture} alt={`activity of layer ${layer.name}`} />
        </figure>
      ))}
    </>
  );
}

/** The picture, and over it where a change alters the decision. */
function Screen({ scene }: { scene: Scene }) {
  const overlay = useRef<HTMLCanvasElement>(null);
  const places = scene.saliency?.places;
  useEffect(() => {
    const canvas = overlay.current;
    if (!canvas || !places) return;
    canvas.width = places[0].length;
    canvas.height = places.length;
    const context = canvas.getContext("2d")!;
    const picture = context.createImageData(canvas.width, canvas.height);
    const most = Math.max(1e-6, ...places.flat());
    places.flat().forEach((value, index) => picture.data.set([0, 200, 255, Math.round(210 * (value / most) ** 0.7)], 4 * index));
    context.putImageData(picture, 0, 0);
  }, [places]);
  if (!scene.picture)
    return <p class="numbers" aria-label="observation">{scene.numbers?.map((value, index) => <code key={index}>{value.toFixed(3)}</code>)}</p>;
  return (
    <div class="screen">
      <img class="pixels" src={scene.picture} alt={`${scene.title}: the game, return ${scene.score}`} style={{ aspectRatio: String(scene.wide) }} />
      {places && <canvas ref={overlay} class="overlay" aria-label="where a change alters the decision" />}
    </div>
  );
}

function Thoughts({ scene, values }: { scene: Scene; values: [number, number][] }) {
  return (
    <div class="thoughts">
      <dl class="facts">
        <div><dt>return</dt><dd data-fact="score">{figure(scene.score)}</dd></div>
        <div><dt>step</dt><dd data-fact="length">{scene.length}</dd></div>
        <div><dt>value</dt><dd>{scene.value.toFixed(3)}</dd></div>
      </dl>
      <Spark points={values} label="value over the last moments" width={260} height={48} />
      <Probabilities actions={scene.actions} areNumbers={scene.are_numbers} probabilities={scene.probabilities} taken={scene.taken} />
    </div>
  );
}

interface Intentions {
  actions: string[];
  areNumbers: boolean[];
  probabilities: number[];
  taken?: number[];
}

/** How probable each choice was, and which was taken; of actions that are numbers, what they were. */
export function Probabilities({ actions, areNumbers, probabilities, taken }: Intentions) {
  return (
    <ol class="probabilities" aria-label="action probabilities">
      {probabilities.map((value, index) => {
        const isNumber = areNumbers[index];
        const shown = isNumber ? (taken?.[index] ?? value) : value;
        return (
          <li key={index} class={!isNumber && taken?.[index] ? "taken" : undefined}>
            <span>{actions[index]}</span>
            <meter min={isNumber ? -1 : 0} max={1} value={shown} aria-label={actions[index]} />
            <span class="number">{isNumber ? shown.toFixed(2) : `${(100 * shown).toFixed(1)} %`}</span>
          </li>
        );
      })}
    </ol>
  );
}
