import type { ReactNode } from "react";

interface Props {
  used: number | null;
  /** Undefined or 0: no limit. */
  limit?: number;
  shown: ReactNode;
  of: (n: number) => string;
  /** What the limit is of, if the place does not say so. */
  word?: string;
}

/** What is used of a limit. */
export function Limit({ used, limit = 0, shown, of, word = "" }: Props): ReactNode {
  return <>{shown}{limit > 0 && <> of {of(limit)} <meter className="meter" min={0} max={limit} high={limit * 0.8} value={used ?? 0} aria-label={`Used part of the budget${word === "" ? "" : `: ${word}`}`} /></>}</>;
}
