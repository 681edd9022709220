import type { ReactNode } from "react";

import { InSteps } from "../lib/steps";
import { Text } from "../lib/text";
import { isTerminal, Screen } from "../output/screen";

/** Text of a tool or program. */
export function Output({ of, label }: { of: string; label?: string }): ReactNode {
  if (of === "") {
    return null;
  }
  return (
    <div className="box" tabIndex={0} role="group" aria-label={label ?? "Output"}>
      {label !== undefined && <div className="muted small">{label}</div>}
      <InSteps of={of} draw={(text) => (isTerminal(of) ? <Screen text={text} label={label ?? "Output"} /> : <pre><Text of={text} /></pre>)} />
    </div>
  );
}

const tones: Record<string, string> = { "+": "add", "-": "del", "@": "hunk" };
const words: Record<string, string> = { "+": "added ", "-": "removed " };

/** A unified diff of one file. */
export function Diff({ of, whole }: { of: string; whole: boolean }): ReactNode {
  return (
    <div className="box" tabIndex={0} role="group" aria-label="Diff">
      <InSteps of={of} draw={(text) => <pre className="diff"><Lines of={text.replace(/\n$/, "").split("\n")} /></pre>} />
      {!whole && <p className="muted small">The beginning of the diff.</p>}
    </div>
  );
}

function Lines({ of }: { of: string[] }): ReactNode {
  const hunk = of.findIndex((line) => line.startsWith("@@")), body = hunk < 0 ? of.length : hunk;
  return of.map((line, n) => {
    const head = n < body && /^(\+\+\+|---)/.test(line) ? "@" : line[0] ?? "";
    return <span key={n} className={tones[head]}>{words[head] && <span className="hidden-text">{words[head]}</span>}<Text of={line} /></span>;
  });
}
