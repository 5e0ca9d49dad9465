/** The state of the page lives in its address, so that a link shows somebody else the same. */

import { useEffect, useState } from "preact/hooks";

export type Changes = Record<string, string | number | boolean | null | undefined>;

const listeners = new Set<() => void>();
addEventListener("popstate", () => listeners.forEach((listen) => listen()));

/** An address: this path, and this query with some of it changed; null takes a word out. */
export function address(path: string, changes: Changes = {}, query = new URLSearchParams()): string {
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "" || value === false) changed.delete(name);
    else changed.set(name, value === true ? "1" : String(value));
  }
  const words = changed.toString().replaceAll("%2C", ",").replaceAll("%2F", "/");
  return path + (words ? `?${words}` : "");
}

/** Names of runs in one word of an address, and back; what separates them is written differently within a name. */
export const joinNames = (names: Iterable<string>): string => [...names].map((name) => name.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");
export const splitNames = (words: string | null): string[] =>
  (words ?? "").split(",").filter(Boolean).map((word) => word.replaceAll("%2C", ",").replaceAll("%25", "%"));

/** Go to an address without loading the page anew. */
export function go(to: string, replace = false): void {
  history[replace ? "replaceState" : "pushState"](null, "", to);
  listeners.forEach((listen) => listen());
}

export interface Place {
  path: string;
  query: URLSearchParams;
  /** Change some words of the query; in place, if going back should not undo it one by one. */
  change(changes: Changes, replace?: boolean): void;
}

/** Where the page is now; whoever asks is drawn again when it changes. */
export function usePlace(): Place {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listen = () => redraw((count) => count + 1);
    listeners.add(listen);
    return () => void listeners.delete(listen);
  }, []);
  const query = new URLSearchParams(location.search);
  return {
    path: location.pathname,
    query,
    change: (changes, replace = true) =>
      go(address(location.pathname, changes, new URLSearchParams(location.search)), replace),
  };
}
