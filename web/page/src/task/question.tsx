import type { ReactNode } from "react";

import type { Event, Task } from "../lib/api";
import { Prose } from "../lib/prose";
import { Clock } from "../lib/text";
import type { TaskEvents } from "../stream/events";
import { useOutline } from "../stream/still";
import type { AttemptLog } from "../stream/store";
import { Fields } from "../timeline/fields";
import { lacking, Whole } from "../timeline/whole";
import { Composer } from "./composer";
import { questionOf } from "./draft";

interface Props { task: Task; events: TaskEvents; log: AttemptLog; version: number }

/** What the agent said before it began to wait for a message, with the box for the answer. */
export function Question({ task, events, log, version }: Props): ReactNode {
  useOutline(events, log, version);
  const n = log.question(), said = n === 0 ? undefined : log.body(n);
  if (n > 0 && said === undefined) {
    events.need(log, n); // said long before the stream begins
  }
  return (
    <section className="panel ask" aria-label="The agent waits for a message">
      <div className="spread"><b className="s-needs">The agent waits for a message</b>{said !== undefined && <span className="muted small">said <Clock at={said.created_at} /></span>}</div>
      {said !== undefined && <div className="prose">{lacking(said).length > 0 ? <Whole of={[said]} draw={draw} /> : draw(said)}</div>}
      <Composer task={task} question={questionOf(log.attempt, n)} />
    </section>
  );
}

const draw = (said: Event): ReactNode => <Prose of={Fields.of(said).text("content").trim()} />;
