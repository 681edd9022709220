import { useEffect } from "react";

import { keep, recall } from "../lib/kept";

/** The first row that a reader sees, and how far it is scrolled. */
export interface Place { row: number; offset: number }

/** Takes the place that was kept under a name before a reload; undefined: none. */
export function takePlace(name: string): Place | undefined {
  const [row, offset] = (recall("sessionStorage", name) ?? "").split(" ").map(Number);
  keep("sessionStorage", name);
  return row !== undefined && offset !== undefined ? { row, offset } : undefined;
}

/** Keeps a place over a reload. now returns it; undefined: none. */
export function useKeptPlace(name: string, now: () => Place | undefined): void {
  useEffect(() => {
    const leave = (): void => {
      const place = now();
      keep("sessionStorage", name, place && `${place.row} ${place.offset}`);
    };
    window.addEventListener("pagehide", leave);
    return () => window.removeEventListener("pagehide", leave);
  });
}
