import type { ReactNode } from "react";

import { duration } from "../lib/format";
import { marksOf, type Mark } from "../replay/moment";
import { lengthOf, type Side } from "./figures";

const width = 1000;
const shown: Partial<Record<Mark, string>> = { message: "message", error: "error", commit: "commit", iteration: "iteration" };

/** Both attempts on one axis of time, each from its own start. */
export function Bars({ sides }: { sides: [string, Side][] }): ReactNode {
  const longest = Math.max(1, ...sides.map(([, s]) => lengthOf(s.attempt)));
  return (
    <div className="lengths">
      {sides.map(([word, side]) => (
        <div key={word} className="bar-row">
          <span className="muted">{word}</span>
          <svg viewBox={`0 0 ${width} 16`} preserveAspectRatio="none" role="img" aria-label={`${word}: ${duration(lengthOf(side.attempt))}`}>
            <rect className={`length ${side.attempt.outcome}`} x="0" y="3" height="10" width={Math.max(2, lengthOf(side.attempt) / longest * width)} />
            {places(side, longest).map(({ x, mark }) => <rect key={`${mark}${x}`} className={`mark-${mark}`} x={x} y="0" width="3" height="16" />)}
          </svg>
          <span>{duration(lengthOf(side.attempt))}</span>
        </div>
      ))}
    </div>
  );
}

/** Where the marks of a side are; those that share a place are drawn once. */
function places({ attempt, log }: Side, longest: number): { x: number; mark: Mark }[] {
  const seen = new Map<string, { x: number; mark: Mark }>();
  marksOf(log).filter(({ mark }) => shown[mark] !== undefined).forEach(({ n, mark }) => {
    const x = Math.round(Math.max(0, log.timeAt(n) - Date.parse(attempt.started_at)) / longest * width);
    seen.set(`${mark}${x}`, { x, mark });
  });
  return [...seen.values()];
}
