import { useState, type ReactNode } from "react";

import { marked } from "../lib/text";
import type { AttemptLog } from "../stream/store";
import { classes, type Class } from "./layout";

/** What a reader chose to see. */
export interface Choice { every?: boolean; only?: Class; tool?: string; find?: string }

/** Chooses the rows of a timeline by their kind or tool. */
export function Filter({ log, choice, choose }: { log: AttemptLog; choice: Choice; choose: (choice: Choice) => void }): ReactNode {
  const value = choice.tool !== undefined ? `tool ${choice.tool}` : choice.only ?? (choice.every ? "every" : "");
  const change = (to: string): void =>
    choose(to === "every" ? { every: true } : to.startsWith("tool ") ? { tool: to.slice(5) } : to === "" ? {} : { only: to as Class });
  const tools = log.toolNames();
  return (
    <select aria-label="Show" value={value} onChange={(e) => change(e.target.value)}>
      <option value="">All rows</option>
      {Object.entries(classes).map(([id, word]) => <option key={id} value={id}>{word}</option>)}
      <option value="every">Every event, with heartbeats</option>
      {tools.length > 0 && <optgroup label="Tool">{tools.map((t) => <option key={t} value={`tool ${t}`}>{marked(t)}</option>)}</optgroup>}
    </select>
  );
}

/** Goes to an event by its number or time of day. */
export function Jump({ log, goTo }: { log: AttemptLog; goTo: (n: number) => void }): ReactNode {
  const [text, setText] = useState(""), [wrong, setWrong] = useState(false);
  return (
    <form className="jump" onSubmit={(e) => {
      e.preventDefault();
      const n = placeOf(text, log);
      setWrong(n === undefined);
      if (n !== undefined) {
        goTo(n);
        setText("");
      }
    }}>
      <input aria-label="Go to event number or time" aria-invalid={wrong} placeholder="Go to 118 or 14:02" title={wrong ? `Next: a number from 1 to ${log.head}, or a time such as 14:02` : "Go to an event by number or time"}
        value={text} onChange={(e) => { setText(e.target.value); setWrong(false); }} />
    </form>
  );
}

/** The number of the event that a text names: by its number, or the first one at a time of the newest day that has it. */
export function placeOf(text: string, log: AttemptLog): number | undefined {
  const number = Number(text.trim().replaceAll(",", "").replace(/^#/, ""));
  if (Number.isInteger(number)) {
    return number >= 1 && number <= log.head ? number : undefined;
  }
  const time = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(text.trim());
  if (time === null || log.head === 0) {
    return undefined;
  }
  const wanted = new Date(log.timeAt(log.head));
  wanted.setHours(Number(time[1]), Number(time[2]), Number(time[3] ?? 0), 0);
  if (wanted.getTime() > log.timeAt(log.head)) {
    wanted.setDate(wanted.getDate() - 1);
  }
  for (let n = 1; n <= log.head; n++) {
    if (log.timeAt(n) >= wanted.getTime()) {
      return n;
    }
  }
  return undefined;
}
