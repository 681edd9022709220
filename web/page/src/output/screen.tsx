import { useMemo, useState, type ReactNode } from "react";

import { many } from "../lib/format";
import { List } from "../timeline/list";
import { Ansi, type Line } from "./ansi";
import { LineOf } from "./line";

/** Whether a text has control sequences of a terminal, or lines that were written again. */
export const isTerminal = (text: string): boolean => /\x1b|\r(?!\n|$)/.test(text);

const head = 30, tail = 60, most = 1000; // lines

/** Reads a text that a terminal printed. A last line without characters is none. */
export function linesOf(text: string): Line[] {
  const lines = new Ansi().write(text).end();
  return lines.length > 1 && lines.at(-1)!.length === 0 ? lines.slice(0, -1) : lines;
}

/** The output of a program in its colors. A long one is folded in its middle until the reader opens it. */
export function Screen({ text, label, find = "" }: { text: string; label: string; find?: string }): ReactNode {
  const lines = useMemo(() => linesOf(text), [text]), [open, setOpen] = useState(false);
  const folded = !open && find === "" && lines.length > head + tail + 10;
  if (!folded && lines.length > most) {
    return <div className="terminal long"><List count={lines.length} label={label} row={(n) => <LineOf of={lines[n]!} find={find} />} follow={false} onFollow={() => undefined} /></div>;
  }
  const draw = (from: number, to: number): ReactNode => lines.slice(from, to).map((line, n) => <LineOf key={from + n} of={line} find={find} />);
  return (
    <div className="terminal" tabIndex={0} role="region" aria-label={label}>
      {draw(0, folded ? head : lines.length)}
      {folded && <div className="bar"><button className="text" onClick={() => setOpen(true)}>{many(lines.length - head - tail, "more line")} · show all</button></div>}
      {folded && draw(lines.length - tail, lines.length)}
    </div>
  );
}
