import { useState, type ReactNode } from "react";

import { grouped } from "../lib/format";
import { Text } from "../lib/text";
import { isTerminal, Screen } from "../output/screen";

const most = 20_000; // characters drawn at first
const step = 200_000;

/** Text of a tool or program. */
export function Output({ of, label }: { of: string; label?: string }): ReactNode {
  const [shown, setShown] = useState(most);
  if (of === "") {
    return null;
  }
  return (
    <div className="box" tabIndex={0} role="group" aria-label={label ?? "Output"}>
      {label !== undefined && <div className="muted small">{label}</div>}
      {isTerminal(of) ? <Screen text={of.slice(0, shown)} label={label ?? "Output"} /> : <pre><Text of={of.slice(0, shown)} /></pre>}
      {of.length > shown && (
        <p className="muted small">The first {grouped(shown)} of {grouped(of.length)} characters. <button className="text" onClick={() => setShown(shown + step)}>Show more</button></p>
      )}
    </div>
  );
}

const tones: Record<string, string> = { "+": "add", "-": "del", "@": "hunk" };
const words: Record<string, string> = { "+": "added ", "-": "removed " };

/** A unified diff of one file. */
export function Diff({ of, whole }: { of: string; whole: boolean }): ReactNode {
  const lines = of.slice(0, most).replace(/\n$/, "").split("\n");
  const hunk = lines.findIndex((line) => line.startsWith("@@")), body = hunk < 0 ? lines.length : hunk;
  return (
    <div className="box" tabIndex={0} role="group" aria-label="Diff">
      <pre className="diff">
        {lines.map((line, n) => {
          const head = n < body && /^(\+\+\+|---)/.test(line) ? "@" : line[0] ?? "";
          return <span key={n} className={tones[head]}>{words[head] && <span className="hidden-text">{words[head]}</span>}<Text of={line} /></span>;
        })}
      </pre>
      {(!whole || of.length > most) && <p className="muted small">The beginning of the diff.</p>}
    </div>
  );
}
