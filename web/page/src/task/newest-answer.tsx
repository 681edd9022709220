import { useLayoutEffect, useRef, type ReactNode } from "react";

import type { Question, Task } from "../lib/api";
import { Settled } from "../lib/settled-question";

/** What became of the newest question, until the attempt after it has ended. opened: whether the reader saw it open. */
export function NewestAnswer({ task, questions, opened }: { task: Task; questions: Question[]; opened: boolean }): ReactNode {
  const newest = questions[0], box = useRef<HTMLDivElement>(null);
  const shown = newest !== undefined && newest.state !== "open" && task.completed_at === null && task.attempt_count <= newest.attempt + 1;
  useLayoutEffect(() => {
    if (shown && opened && document.activeElement === document.body) {
      box.current!.focus({ preventScroll: true }); // the box of the question had it
    }
  }, [shown, opened]);
  return !shown ? null : (
    <div ref={box} tabIndex={-1} className="notice small settled-question" role="status" data-question={newest.state}>
      <Settled of={newest} />{newest.state === "answered" && <span className="muted"> · {after(newest, task)}</span>}
    </div>
  );
}

/** What happens with an answer. */
function after(question: Question, task: Task): string {
  if (task.attempt_count > question.attempt) {
    return `Attempt ${task.attempt_count} continues with it.`;
  }
  return question.suspended_at !== null ? "The next attempt continues with it, the files and the session." : "The agent gets it as a message.";
}
