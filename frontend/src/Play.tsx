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
  useKeys(held.current, step, setRunning);

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
              <Probabilities actions={game.shown} areNumbers={game.are_numbers} probabilities={played.advice.probabilities} taken={played.taken} />
              <p class="soft">and expects {played.advice.value.toFixed(3)}</p>
            </>
          )}
          <Actions names={game.actions} taken={played?.action} onHold={(index) => ((pressed.current = index), index !== null && setRunning(true))} onStep={step} />
        </div>
      </div>
      {played && <Eyes played={played} />}
    </>
  );
}

/** Keys are held for as long as they are down; p and n are for the game itself. */
function useKeys(held: Set<string>, step: () => void, setRunning: (change: boolean | ((now: boolean) => boolean)) => void): void {
  const latest = useRef(step);
  latest.current = step;
  useEffect(() => {
    const name = (event: KeyboardEvent) => (event.key.length === 1 ? event.key.toLowerCase() : event.key);
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey) return;
      if (event.target instanceof HTMLButtonElement && (event.key === " " || event.key === "Enter")) return;
      const key = name(event);
      if (key === "p") return setRunning((now) => !now);
      if (key === "n") return latest.current();
      if (!(key in ARROWS) && !/^[0-9]$/.test(key)) return;
      event.preventDefault();
      held.add(key);
      if (!event.repeat) setRunning(true);
    };
    const release = (event: KeyboardEvent) => void held.delete(name(event));
    const forget = () => held.clear();
    addEventListener("keydown", press);
    addEventListener("keyup", release);
    addEventListener("blur", forget);
    return () => {
      removeEventListener("keydown", press);
      removeEventListener("keyup", release);
      removeEventListener("blur", forget);
    };
  }, []);
}

interface ActionsProps {
  names: string[];
  taken?: number;
  onHold: (index: number | null) => void;
  onStep: (index: number) => void;
}

/** A button for each action, held like a key. */
function Actions({ names, taken, onHold, onStep }: ActionsProps) {
  const hold = (index: number) => ({
    onPointerDown: () => onHold(index),
    onPointerUp: () => onHold(null),
    onPointerLeave: () => onHold(null),
    onPointerCancel: () => onHold(null),
    // A click without a pointer comes from the keyboard: one step of that action.
    onClick: (event: MouseEvent) => event.detail === 0 && onStep(index),
  });
  return (
    <>
      <h2>Actions</h2>
      <p class="soft">Arrow keys or WASD, space to fire, digits for an action by its number.</p>
      <div class="actions">
        {names.map((name, index) => (
          <button key={name} class={taken === index ? "taken" : ""} {...hold(index)}>{index} {name}</button>
        ))}
      </div>
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
