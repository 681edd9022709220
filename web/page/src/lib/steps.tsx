import { useState, type ReactNode } from "react";

import { grouped } from "./format";

const first = 20_000, step = 200_000; // characters

/** Draws the beginning of a long text, and offers more of it: a hostile text could make an element of every character. */
export function InSteps({ of, draw }: { of: string; draw: (shown: string) => ReactNode }): ReactNode {
  const [shown, setShown] = useState(first);
  return (
    <>
      {draw(of.slice(0, shown))}
      {of.length > shown && (
        <p className="muted small">The first {grouped(shown)} of {grouped(of.length)} characters. <button type="button" className="text" onClick={() => setShown(shown + step)}>Show more</button></p>
      )}
    </>
  );
}
