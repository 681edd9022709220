import { useEffect, useState, type ReactNode } from "react";

import { grouped } from "../lib/format";
import { useKeys } from "../lib/keyboard";
import { Text } from "../lib/text";

interface Props {
  /** What is searched for, in lower case. */
  find: string;
  setFind: (find: string) => void;
  /** Places that were found, in order; left out while the search runs. */
  hits?: number[];
  /** Why the search failed. */
  problem?: string;
  errors: number[];
  reveal: (place: number) => void;
}

/** Searches, and goes from one place to the next: n and N through what was found, e and E through errors. */
export function Find({ find, setFind, hits, problem, errors, reveal }: Props): ReactNode {
  const [text, setText] = useState(find), [at, setAt] = useState(-1), [error, setError] = useState(-1);
  useEffect(() => {
    const timer = setTimeout(() => setFind(text.trim().toLowerCase()), 200);
    return () => clearTimeout(timer);
  }, [text, setFind]);
  useEffect(() => setAt(-1), [find]);
  const step = (list: number[], from: number, by: number, set: (to: number) => void): void => {
    if (list.length > 0) {
      const to = from < 0 && by < 0 ? list.length - 1 : (from + by + list.length) % list.length;
      set(to);
      reveal(list[to]!);
    }
  };
  const hit = (by: number): void => step(hits ?? [], at, by, setAt), fail = (by: number): void => step(errors, error, by, setError);
  const keys: Record<string, (() => void) | undefined> = { n: () => hit(1), N: () => hit(-1), e: () => fail(1), E: () => fail(-1) };
  useKeys((event) => keys[event.key]?.());
  return (
    <span className="spread" role="search">
      <input className="search" type="search" aria-label="Search the output" placeholder="Search the output   /" value={text} maxLength={200}
        onChange={(e) => setText(e.target.value)} onKeyDown={(e) => e.key === "Enter" && hit(e.shiftKey ? -1 : 1)} />
      {find !== "" && <span className={problem === undefined ? "small muted" : "small bad"} role="status">{problem !== undefined ? <Text of={problem} /> : hits === undefined ? "Searching…" : hits.length === 0 ? "Not found" : `${at < 0 ? "" : `${grouped(at + 1)} of `}${grouped(hits.length)} found`}</span>}
      {find !== "" && hits !== undefined && hits.length > 0 && <><button aria-label="Previous place found" title="N" onClick={() => hit(-1)}>↑</button><button aria-label="Next place found" title="n" onClick={() => hit(1)}>↓</button></>}
      {errors.length > 0 && <button title="e, or E for the one before" onClick={() => fail(1)}>{error < 0 ? `Next error (${grouped(errors.length)})` : `Error ${grouped(error + 1)} of ${grouped(errors.length)}`}</button>}
    </span>
  );
}
