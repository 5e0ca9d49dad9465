/** A person plays, and sees beside the game what an agent would get of it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Probabilities } from "./Live";
import { tell, useAnswer } from "./server";
import type { Game, Played } from "./types";
import { figure } from "./words";

const ARROWS: Record<string, string> = {
  ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right",
  w: "up", s: "down", a: "left", d: "right", " ": "fire",
};

/** The action that the held keys mean: the one that names all of them, or else as many as there is one for. */
export function actionOf(held: Set<string>, actions: string[]): number | null {
  const digit = [...held].find((key) => /^[0-9]$/.test(key));
  if (digit !== undefined) return Number(digit) < actions.length ? Number(digit) : null;
  const words = new Set([...held].map((key) => ARROWS[key]).filter(Boolean));
  if (!words.size) return null;
  if (actions.every((name) => name.startsWith("action "))) {
    // Actions without names: left is the first, right the last; what lies between has a digit.
    if (words.has("left") || words.has("down")) return 0;
    return words.has("right") || words.has("up") || words.has("fire") ? actions.length - 1 : null;
  }
  const parts = (name: string) => ["up", "down", "left", "right", "fire"].filter((word) => name.includes(word));
  let best: number | null = null;
  let most = 0;
  actions.forEach((name, index) => {
    const named = parts(name);
    if (named.every((word) => words.has(word)) && named.length > most) [best, most] = [index, named.length];
  });
  return best;
}

export function Play() {
  const { path, answer: game, error } = useAnswer<Game | null>("/api/play");
  if (error) return <p class="error" role="alert">{error}</p>;
  if (path === null) return <p class="soft">Reading …</p>;
  if (!game) return <p>Nothing to play here: start it with <code>hogwild play pong</code>.</p>;
  return <Sitting game={game} />;
}

function Sitting({ game }: { game: Game }) {
  const [played, setPlayed] = useState<Played | null>(null);
  const [screen, setScreen] = useState("");
  const [running, setRunning] = useState(false);
  const [trouble, setTrouble] = useState("");
  const held = useRef(new Set<string>());
  const pressed = useRef<number | null>(null); // the action whose button is held
  const idle = Math.max(0, game.actions.findIndex((name) => name === "noop"));
  const stepping = useRef(false);

  const take = (answer: Played) => {
    setTrouble("");
    setPlayed(answer);
    // The frames of a step come together, and are shown one after the other.
    const pause = 1000 / game.steps_per_second / answer.screens.length;
    answer.screens.forEach((picture, number) => setTimeout(() => setScreen(picture), number * pause));
    if (answer.over) setRunning(false);
  };
  const step = async (wanted?: number) => {
    if (stepping.current) return;
    stepping.current = true;
    const action = wanted ?? pressed.current ?? actionOf(held.current, game.actions) ?? idle;
    try {
      take(await tell<Played>("/api/play/step", { action }));
    } catch (error) {
      setRunning(false);
      setTrouble((error as Error).message);
    } finally {
      stepping.current = false;
    }
  };
  const start = () => tell<Played>("/api/play/start").then(take, (error: Error) => setTrouble(error.message));

  useEffect(() => void start(), []);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => step(), 1000 / game.steps_per_second);
    return () => clearInterval(timer);
  }, [running]);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey) return;
      if (event.target instanceof HTMLButtonElement && (event.key === " " || event.key === "Enter")) return;
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      if (key === "p") return setRunning((now) => !now);
      if (key === "n") return void step();
      if (!(key in ARROWS) && !/^[0-9]$/.test(key)) return;
      event.preventDefault();
      held.current.add(key);
      if (!event.repeat) setRunning(true);
    };
    const release = (event: KeyboardEvent) => held.current.delete(event.key.length === 1 ? event.key.toLowerCase() : event.key);
    const forget = () => held.current.clear();
    addEventListener("keydown", press);
    addEventListener("keyup", release);
    addEventListener("blur", forget);
    return () => {
      removeEventListener("keydown", press);
      removeEventListener("keyup", release);
      removeEventListener("blur", forget);
    };
  }, []);

  const hold = (index: number) => {
    const release = () => (pressed.current = null);
    const press = () => {
      pressed.current = index;
      setRunning(true);
    };
    // A click without a pointer comes from the keyboard: one step of that action.
    const click = (event: MouseEvent) => event.detail === 0 && step(index);
    return { onPointerDown: press, onPointerUp: release, onPointerLeave: release, onPointerCancel: release, onClick: click };
  };
  return (
    <>
      <div class="bar">
        <h1>{game.env}</h1>
        <button onClick={() => setRunning(!running)} aria-pressed={running}>{running ? "Pause (p)" : "Go on (p)"}</button>
        <button onClick={() => step()}>One step (n)</button>
        <button onClick={start}>New game</button>
        <span class="soft">{game.protocol}</span>
      </div>
      {trouble && <p class="error" role="alert">{trouble}</p>}
      {played?.over && <p role="status">The game is over with {figure(played.score)}. Any key starts the next one.</p>}
      <div class="stage">
        <div class="screen">{screen && <img class="pixels" src={screen} alt="the game" style={game.wide ? { aspectRatio: String(game.wide) } : {}} />}</div>
        <div class="thoughts">
          {played && <Scores played={played} />}
          {played?.advice && (
            <>
              <h2>The agent would</h2>
              <Probabilities actions={game.actions} probabilities={played.advice.probabilities} taken={played.action} />
              <p class="soft">and expects {played.advice.value.toFixed(3)}</p>
            </>
          )}
          <h2>Actions</h2>
          <p class="soft">Arrow keys or WASD, space to fire, digits for an action by its number.</p>
          <div class="actions">
            {game.actions.map((name, index) => (
              <button key={name} class={played?.action === index ? "taken" : ""} {...hold(index)}>{index} {name}</button>
            ))}
          </div>
        </div>
      </div>
      {played && <Eyes played={played} />}
    </>
  );
}

function Scores({ played }: { played: Played }) {
  const facts: [string, string][] = [
    ["return", figure(played.score)],
    ["reward", figure(played.reward)],
    ["as learned from", figure(played.learned)],
    ["learned in all", figure(played.learned_score)],
    ["lives", played.lives === null ? "–" : String(played.lives)],
    ["step", String(played.length)],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd data-fact={name}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Each stage of preprocessing, then the stack spread out in time. */
function Eyes({ played }: { played: Played }) {
  return (
    <>
      {played.stages.length > 0 && <h2>What becomes of the picture</h2>}
      <div class="strip">
        {played.stages.map((stage, index) => (
          <figure key={index}>
            <img class="pixels" src={stage.picture} alt={`after ${stage.name}`} />
            <figcaption>{stage.name}</figcaption>
          </figure>
        ))}
      </div>
      {played.stack.length > 0 && <h2>What an agent sees</h2>}
      <div class="strip">
        {played.stack.map((each, index) => (
          <figure key={index}>
            <img class="pixels" src={each.picture} alt={`frame ${each.frame}`} />
            <figcaption>frame {each.frame}</figcaption>
          </figure>
        ))}
      </div>
      {played.numbers && <p class="numbers" aria-label="observation">{played.numbers.map((value, index) => <code key={index}>{value.toFixed(3)}</code>)}</p>}
    </>
  );
}
