import { useEffect, useLayoutEffect, useRef, useState, type ReactNode, type RefObject } from "react";

import { said, type Task } from "../lib/api";
import { sendKeys } from "../lib/keyboard";
import { useMay } from "../lib/session";
import { Text } from "../lib/text";
import { drop, isNamedBy, isOfOther, moveTo, useDraft, write } from "./draft";
import { post } from "./sent";

interface Props {
  task: Task;
  /** The question that the agent waits to be answered. */
  question?: string;
  /** Answers the question, and returns whether the server has the answer. Left out: the text is a message to the agent. */
  reply?: (text: string) => Promise<boolean>;
  /** Whether nothing can be sent now. */
  held?: boolean;
  /** The attempt, if the reader sees another one. */
  to?: number;
}

/** Writes to the agent of a running attempt, or answers a question. The draft outlives a reload. */
export function Composer({ task, question, reply, held = false, to }: Props): ReactNode {
  const draft = useDraft(task.id), { text } = draft, answer = question !== undefined, moved = answer && isOfOther(draft, question);
  const [busy, setBusy] = useState(false), [error, setError] = useState("");
  const may = useMay("write"), box = useRef<HTMLTextAreaElement>(null);
  useKeptFocus(box);
  useEffect(() => {
    if (question !== undefined && isNamedBy(draft, question)) {
      moveTo(task.id, question);
    }
  }, [task.id, draft, question]);
  useEffect(() => {
    if (answer && document.activeElement?.matches("body, #content, .feed, .feed *")) {
      box.current?.focus({ preventScroll: true });
    }
  }, [answer, may]);
  if (task.completed_at !== null || reply === undefined && task.sandbox_id === null || !may) {
    return null;
  }
  const word = `Message to the agent${to === undefined ? "" : ` of attempt ${to}`}`;
  const send = async (kind: "user_message" | "interrupt"): Promise<void> => {
    if (busy || held || moved || text.trim() === "") {
      return;
    }
    setBusy(true);
    setError("");
    try {
      if (reply === undefined) {
        await post(task, text, kind, draft.key);
      } else if (!await reply(text)) {
        return;
      }
      drop(task.id, draft);
    } catch (e) {
      setError(said(e));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div>
      {error !== "" && <p className="bad small" role="alert"><Text of={error} /></p>}
      {moved && <p className="notice small spread" role="alert"><b className="s-needs">The question changed after you began this answer.</b> <button onClick={() => moveTo(task.id, question)}>Answer this question with it</button></p>}
      <form className="composer" onSubmit={(e) => { e.preventDefault(); void send("user_message"); }}>
        <textarea ref={box} aria-label={answer ? "Answer to the agent" : word} rows={1} placeholder={answer ? "Answer" : word} value={text} onChange={(e) => write(task.id, e.target.value, question)}
          onKeyDown={(e) => {
            if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
              e.preventDefault();
              void send("user_message");
            }
            if (e.key === "Escape") {
              e.currentTarget.blur();
            }
          }} />
        <button className="primary" disabled={busy || held || moved || text.trim() === ""}>Send</button>
        {!answer && <button type="button" disabled={busy || text.trim() === ""} title="Stops the current turn of the agent, which then reads the message" onClick={() => void send("interrupt")}>Interrupt</button>}
        <span className="muted small wide">{sendKeys} sends</span>
      </form>
    </div>
  );
}

/** The selection of a box that had the focus when it was removed, until what is drawn with its removal is mounted. */
let left: [number, number] | undefined;

/** Gives the focus of a removed box to the one that takes its place: a user may be typing when the agent begins or stops to wait. */
function useKeptFocus(box: RefObject<HTMLTextAreaElement | null>): void {
  useLayoutEffect(() => {
    if (left !== undefined) {
      box.current?.focus({ preventScroll: true });
      box.current?.setSelectionRange(...left);
    }
    return () => {
      const element = box.current;
      if (element !== null && document.activeElement === element) {
        left = [element.selectionStart, element.selectionEnd];
        queueMicrotask(() => { left = undefined; });
      }
    };
  }, [box]);
}
