import type { ReactNode } from "react";

import type { Task } from "../lib/api";
import { Prose } from "../lib/prose";
import { Clock } from "../lib/text";
import type { AttemptLog } from "../stream/store";
import { Fields } from "../timeline/fields";
import { Composer } from "./composer";

/** What the agent said before it began to wait for a message, with the box for the answer. */
export function Question({ task, log }: { task: Task; log: AttemptLog }): ReactNode {
  const said = log.question;
  return (
    <section className="panel ask" aria-label="The agent waits for a message">
      <div className="spread"><b className="s-needs">The agent waits for a message</b>{said !== undefined && <span className="muted small">said <Clock at={said.created_at} /></span>}</div>
      {said !== undefined && <div className="prose"><Prose of={Fields.of(said).text("content").trim()} /></div>}
      <Composer task={task} answer />
    </section>
  );
}
