import { useSyncExternalStore } from "react";

/** Milliseconds between the clock of the server and performance.now(): the browser's own clock may be wrong. */
let offset = Date.now() - performance.now();
let known = false;

/** Takes the time of the server from an answer. An answer is late, never early: the largest offset is the best one. The browser may have kept an immutable one for hours. */
export function heardTime(response: Response): void {
  if (response.headers.get("Cache-Control")?.includes("immutable")) {
    return;
  }
  const said = Date.parse(response.headers.get("Date") ?? "");
  const heard = said - performance.now();
  if (!Number.isNaN(said) && (!known || heard > offset || heard < offset - 2000)) {
    offset = heard;
    known = true;
  }
}

/** The time of the server, in milliseconds since 1970. */
export function now(): number {
  return performance.now() + offset;
}

let second = 0;
const readers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(reader: () => void): () => void {
  readers.add(reader);
  timer ??= setInterval(tick, 1000);
  return () => {
    readers.delete(reader);
    if (readers.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

function tick(): void {
  if (document.visibilityState === "visible") {
    second++;
    readers.forEach((reader) => reader());
  }
}

/** Draws the caller once a second while the page is visible, and returns the time of the server. */
export function useNow(): number {
  useSyncExternalStore(subscribe, () => second);
  return now();
}
