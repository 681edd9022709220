import { createContext, useContext, type ReactNode } from "react";

import type { Event, Question } from "../lib/api";
import { Prose } from "../lib/prose";
import { Text } from "../lib/text";
import { Settled } from "../lib/settled-question";

/** The questions of the task whose events are shown. */
export const QuestionsOf = createContext<readonly Question[]>([]);

/** The question of an event, with what the server says of it. */
export function AskedHere({ event, text, options }: { event: Event; text: string; options: string[] }): ReactNode {
  const question = useContext(QuestionsOf).find((q) => q.sandbox_id === event.sandbox_id && q.sequence === event.sequence);
  return (
    <>
      <div className="prose"><Prose of={text.trim()} /></div>
      {options.length > 0 && <ul className="proposed muted">{options.map((o, n) => <li key={n}><Text of={o} /></li>)}</ul>}
      {question !== undefined && <p className="small" data-question={question.state}><Settled of={question} /></p>}
    </>
  );
}
