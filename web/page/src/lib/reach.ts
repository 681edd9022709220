import { useSyncExternalStore } from "react";

/** A connection to the server that is lost. */
export interface Lost {
  /** Since when, by performance.now(). */
  since: number;
  /** When the next try begins, by performance.now(); 0: not known, or under way. */
  nextTry: () => number;
  /** Tries again at once. */
  now: () => void;
}

/** What is shown counts as old after this time without a connection. */
const patience = 5000;

const lost = new Map<string, Lost>(), readers = new Set<() => void>();
let old: Lost | undefined, timer: ReturnType<typeof setTimeout> | undefined;

/** Notes that a connection is lost, or is back: undefined. */
export function setLost(name: string, what: Lost | undefined): void {
  if (what === undefined) {
    lost.delete(name);
  } else {
    lost.set(name, what);
  }
  judge();
}

function judge(): void {
  clearTimeout(timer);
  const first = [...lost.values()].sort((a, b) => a.since - b.since)[0], rest = first === undefined ? 0 : first.since + patience - performance.now();
  const now = rest > 0 ? undefined : first;
  if (rest > 0) {
    timer = setTimeout(judge, rest);
  }
  if (now !== old) {
    old = now;
    readers.forEach((reader) => reader());
  }
}

/** The connection that is lost for so long that what is shown is old. */
export function useOld(): Lost | undefined {
  return useSyncExternalStore((reader) => {
    readers.add(reader);
    return () => readers.delete(reader);
  }, () => old);
}
