import type { ReactNode } from "react";

import { Text } from "../lib/text";
import type { Line } from "./ansi";

/** A line of a terminal, with the places that a search found marked. */
export function LineOf({ of, find }: { of: Line; find: string }): ReactNode {
  return <div className="tl">{of.length === 0 ? "\n" : of.map((s, n) => <span key={n} style={s.style}><Marked of={s.text} find={find} /></span>)}</div>;
}

function Marked({ of, find }: { of: string; find: string }): ReactNode {
  if (find === "" || !of.toLowerCase().includes(find)) {
    return <Text of={of} />;
  }
  const parts: ReactNode[] = [], all = of.toLowerCase();
  let from = 0;
  for (let at = all.indexOf(find); at >= 0; at = all.indexOf(find, from)) {
    parts.push(<Text key={`t${at}`} of={of.slice(from, at)} />, <mark key={at}><Text of={of.slice(at, at + find.length)} /></mark>);
    from = at + find.length;
  }
  return <>{parts}<Text of={of.slice(from)} /></>;
}

export const plainOf = (line: Line): string => line.map((s) => s.text).join("");
