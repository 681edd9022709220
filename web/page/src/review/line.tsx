import type { ReactNode } from "react";

import { bytes } from "../lib/format";
import { Text } from "../lib/text";
import type { Line } from "./diff";
import type { Highlighter } from "./highlight";
import type { Row, Side } from "./rows";
import { segmentsOf } from "./segments";

/** How the lines of a file are drawn. */
export interface Look {
  highlighter: Highlighter | undefined;
  /** All lines end in CRLF, and need no mark of it. */
  crlf: boolean;
  /** Opens a comment on a line; undefined: the user may not write. */
  comment: ((side: "old" | "new", line: Line) => void) | undefined;
}

const tones: Record<string, string> = { "+": "add", "-": "del", "\\": "note" };
const words: Record<string, string> = { "+": "added ", "-": "removed " };

/** A row of a unified diff: both numbers, and the line. */
export function UnifiedRow({ row, look }: { row: Row; look: Look }): ReactNode {
  const side = row.left!, { line } = side;
  return (
    <div className={`dl ${tones[line.kind] ?? ""}`}>
      <Num of={line} side="old" look={look} /><Num of={line} side="new" look={look} />
      <Code of={side} look={look} />
    </div>
  );
}

/** A row of a split diff: the old file at the left, the new one at the right. */
export function SplitRow({ row, look }: { row: Row; look: Look }): ReactNode {
  return (
    <div className="dl split">
      <Half side="old" of={row.left} look={look} /><Half side="new" of={row.right} look={look} />
    </div>
  );
}

function Half({ side, of, look }: { side: "old" | "new"; of: Side | undefined; look: Look }): ReactNode {
  if (of === undefined) {
    return <span className="half none" />;
  }
  return <div className={`half ${tones[of.line.kind] ?? ""}`}><Num of={of.line} side={side} look={look} /><Code of={of} look={look} /></div>;
}

function Num({ of, side, look }: { of: Line; side: "old" | "new"; look: Look }): ReactNode {
  const n = of[side];
  return look.comment === undefined || n === 0 ? <span className="num">{n === 0 ? "" : n}</span>
    : <button className="num text" tabIndex={-1} aria-label={`Comment on line ${n} of the ${side} file`} onClick={() => look.comment!(side, of)}>{n}</button>;
}

function Code({ of, look }: { of: Side; look: Look }): ReactNode {
  const { line } = of, text = look.crlf && line.text.endsWith("\r") ? line.text.slice(0, -1) : line.text;
  if (line.kind === "\\") {
    return <code className="muted">{text.trim() === "No newline at end of file" ? "no newline at the end of the file" : <Text of={text} />}</code>;
  }
  return (
    <code>
      <span className="sign" aria-hidden="true">{line.kind}</span>
      {words[line.kind] !== undefined && <span className="hidden-text">{words[line.kind]}</span>}
      {segmentsOf(text, look.highlighter?.tokens(of.at) ?? [], of.marks).map((s, n) => (
        <span key={n} className={s.marked ? "differs" : s.tone === "" ? undefined : `t-${s.tone}`}><Ends of={s.text} /></span>
      ))}
      {line.cut !== undefined && <span className="muted"> … the line has {bytes(line.cut)}, and this is its beginning</span>}
    </code>
  );
}

/** Text of a file: a carriage return inside of a line is shown, since it can hide what stands before. */
function Ends({ of }: { of: string }): ReactNode {
  return of.split("\r").map((part, n) => <span key={n}>{n > 0 && <span className="mark">CR</span>}<Text of={part} /></span>);
}
