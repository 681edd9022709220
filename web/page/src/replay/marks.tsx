import { useMemo, type ReactNode } from "react";

import type { AttemptLog } from "../stream/store";
import { marksOf, type Mark } from "./moment";

const places = 1000;
const heights: Record<Mark, number> = { checkpoint: 5, iteration: 9, commit: 13, message: 17, error: 20 };
const words: Record<Mark, string> = { message: "message", error: "error", commit: "commit", iteration: "iteration", checkpoint: "checkpoint" };

/** The marks along the slider. Those that share a place are drawn once. */
export function Marks({ log, version }: { log: AttemptLog; version: number }): ReactNode {
  const drawn = useMemo(() => {
    const seen = new Map<string, { x: number; mark: Mark }>();
    marksOf(log).forEach(({ n, mark }) => {
      const x = Math.round((n - 1) / Math.max(1, log.head - 1) * places);
      seen.set(`${mark}${x}`, { x, mark });
    });
    return [...seen.values()].sort((a, b) => heights[a.mark] - heights[b.mark]);
  }, [log, version]);
  const kinds = new Set(drawn.map((d) => d.mark));
  return (
    <>
      <svg className="marks" viewBox={`-2 0 ${places + 4} 20`} preserveAspectRatio="none" aria-hidden="true">
        {drawn.map(({ x, mark }) => <rect key={`${mark}${x}`} className={`mark-${mark}`} x={x - 1} width={3} y={20 - heights[mark]} height={heights[mark]} />)}
      </svg>
      <p className="legend small muted">{(Object.keys(words) as Mark[]).filter((m) => kinds.has(m)).map((m) => <span key={m}><i className={`mark-${m}`} aria-hidden="true" />{words[m]}</span>)}</p>
    </>
  );
}
