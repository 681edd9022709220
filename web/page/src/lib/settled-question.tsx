import type { ReactNode } from "react";

import type { Question } from "./api";
import { InSteps } from "./steps";
import { Clock, Text } from "./text";

const words: Record<string, string> = { open: "Awaits an answer", answered: "Answered", cancelled: "Cancelled", expired: "Expired" };

/** What the server says of a question: its state, since when, and its first answer. */
export function Settled({ of }: { of: Question }): ReactNode {
  const { state, answered_by, answer, reason, settled_at } = of;
  return (
    <>
      <b className={state === "answered" ? "s-done" : state === "open" ? "s-needs" : "muted"}>{words[state] ?? state}</b>
      {answered_by !== "" && <> by <Text of={answered_by} /></>}
      {settled_at !== null && <span className="muted"> <Clock at={settled_at} /></span>}
      {answer !== "" && <>: <span className="answer"><InSteps of={answer} draw={(text) => <Text of={text} />} /></span></>}
      {reason !== "" && <>: <Text of={reason} /></>}
    </>
  );
}
