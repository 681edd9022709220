import { Link } from "@tanstack/react-router";
import { useLayoutEffect, type ReactNode } from "react";

import type { Message, Task } from "../lib/api";
import { when } from "../lib/format";
import { Clock, Text } from "../lib/text";
import type { TaskEvents } from "../stream/events";
import type { AttemptLog } from "../stream/store";
import { Fields, senderOf } from "../timeline/fields";
import { lacking } from "../timeline/whole";
import { useSent } from "./sent";

interface Props { task: Task; log: AttemptLog; events: TaskEvents }

/** What users, guardian, system and other agents wrote to the agent, each with its delivery status. */
export function Messages({ task, log, events }: Props): ReactNode {
  const sent = useSent(task.id);
  const known = new Set(sent.map((s) => s.id));
  const received = log.messages().filter((e) => !known.has(Fields.of(e).text("message_id")));
  useLayoutEffect(() => {
    const missing = log.lackingMessages();
    if (missing > 0) {
      events.need(log, missing); // messages of earlier events come page by page
    }
  });
  if (sent.length + received.length === 0) {
    return <p className="muted">No messages to attempt {log.attempt}.</p>;
  }
  return (
    <section className="panel" aria-label="Messages">
      {received.map((e) => (
        <div key={e.sequence} className="message">
          <div className="spread small muted"><b>{senderOf(Fields.of(e))}</b><span>received <Clock at={e.created_at} /></span><Link to="." search={{}} hash={`e${e.attempt}:${e.sequence}`}>event {e.sequence}</Link></div>
          <div className="body"><Text of={Fields.of(e).text("content", "reason")} />{lacking(e).length > 0 && <span className="muted"> (the whole text is in the timeline)</span>}</div>
        </div>
      ))}
      {sent.map((s) => (
        <div key={s.id} className="message" data-message={s.message?.state ?? "asked"}>
          <div className="spread small muted"><b>You</b>{s.kind === "interrupt" && <span>interrupt</span>}<span>asked {when(s.at)}</span></div>
          <div className="body"><Text of={s.text} /></div>
          {s.message !== undefined && <Steps of={s.message} />}
        </div>
      ))}
    </section>
  );
}

/** The way of a message: each step that the server has recorded. */
export function Steps({ of }: { of: Message }): ReactNode {
  const steps: [string, string | null][] = [["accepted", of.accepted_at], ["delivered", of.delivered_at]];
  if (["acknowledged", "answered"].includes(of.state) || of.answered_at !== null) {
    steps.push(["acknowledged", of.settled_at], ["answered", of.answered_at]);
  } else if (of.state === "expired" || of.state === "rejected") {
    steps.push([of.state, of.settled_at]);
  }
  return (
    <div className="steps">
      {steps.map(([word, at]) => <span key={word} className={at === null ? undefined : "reached"}>{word}{at !== null && <> <Clock at={at} /></>}</span>)}
      {of.reason !== "" && <span className="bad"><Text of={of.reason} /></span>}
    </div>
  );
}
