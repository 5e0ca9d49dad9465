/** Talking to the server: questions, changes, and its news. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Row } from "./types";

export async function ask<T>(path: string, signal?: AbortSignal): Promise<T> {
  return answer<T>(await fetch(path, { signal }));
}

/** Everything that changes something carries a header that no other site can send. */
export async function tell<T>(path: string, content: unknown = {}): Promise<T> {
  const headers = { "content-type": "application/json", "x-hogwild": "1" };
  return answer<T>(await fetch(path, { method: "POST", headers, body: JSON.stringify(content) }));
}

async function answer<T>(response: Response): Promise<T> {
  if (response.ok) return response.json();
  const text = await response.text();
  let reason = text;
  try {
    reason = JSON.parse(text).error ?? text;
  } catch {
    // it was plain text
  }
  throw new Error(reason.trim() || `The server answered ${response.status}.`);
}

const PAUSE = 2000; // milliseconds between two times that the same is asked

/**
 * The answer to a question. When `again` changes it is asked once more, but never before the last answer has come, nor
 * more often than every `pause`. What was known stays until there is something new: `path` says what it answers.
 */
export function useAnswer<T>(path: string | null, again: unknown = 0, pause = PAUSE): { path: string | null; answer: T | null; error: string } {
  const nothing = { path: null as string | null, answer: null as T | null, error: "" };
  const [state, set] = useState(nothing);
  const refresh = useRef(() => {});
  const asked = useRef(again);
  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    let [busy, wanted, timer] = [false, false, 0];
    const question = () => {
      wanted = busy;
      if (busy) return;
      busy = true;
      const begun = Date.now();
      ask<T>(path, stop.signal)
        .then((answer) => set({ path, answer, error: "" }), (error: Error) => {
          if (!stop.signal.aborted) set({ path, answer: null, error: error.message });
        })
        .finally(() => {
          if (stop.signal.aborted) return;
          timer = setTimeout(() => {
            busy = false;
            if (wanted) question();
          }, Math.max(0, pause - (Date.now() - begun)));
        });
    };
    refresh.current = question;
    question();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path]);
  useEffect(() => {
    if (asked.current !== again) refresh.current();
    asked.current = again;
  }, [again]);
  return path === null ? nothing : state;
}

const RECONNECT = 3000; // milliseconds

/**
 * A stream of events while the page can be seen: a hidden one gives its connection back. An event that is an error ends
 * it, until somebody wants to try again.
 */
export function useStream<T extends { error?: string }>(path: string | null, hear: (event: T) => void): { open: boolean; error: string; retry: () => void } {
  const [open, setOpen] = useState(false);
  const [error, setError] = useState("");
  const [round, next] = useState(0);
  const listener = useRef(hear);
  listener.current = hear;
  useEffect(() => {
    if (path === null) return;
    let source: EventSource | null = null;
    let timer = 0;
    const close = () => {
      clearTimeout(timer);
      source?.close();
      source = null;
      setOpen(false);
    };
    const connect = () => {
      if (document.hidden || source) return;
      source = new EventSource(path);
      source.onopen = () => setOpen(true);
      source.onerror = () => {
        setOpen(false);
        if (source?.readyState !== EventSource.CLOSED) return; // it tries again by itself
        close();
        timer = setTimeout(connect, RECONNECT);
      };
      source.onmessage = ({ data }) => {
        const event: T = JSON.parse(data);
        if (event.error === undefined) return listener.current(event);
        document.removeEventListener("visibilitychange", look);
        close();
        setError(event.error);
      };
    };
    const look = () => (document.hidden ? close() : connect());
    document.addEventListener("visibilitychange", look);
    setError("");
    connect();
    return () => {
      document.removeEventListener("visibilitychange", look);
      close();
    };
  }, [path, round]);
  return { open, error, retry: () => next((number) => number + 1) };
}

/** All runs, kept up to date; the first event has all of them. */
export function useRuns(): { runs: Row[] | null; live: boolean } {
  const [runs, set] = useState<Map<string, Row> | null>(null);
  const { open } = useStream<{ error?: string; all: boolean; runs: Row[]; gone: string[] }>("/api/news", (news) =>
    set((before) => {
      const now = new Map(news.all || !before ? [] : before);
      for (const name of news.gone) now.delete(name);
      for (const row of news.runs) now.set(row.name, row);
      return now;
    }),
  );
  return { runs: runs && [...runs.values()], live: open };
}
