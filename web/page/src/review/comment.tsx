import { useEffect, useRef, type ReactNode } from "react";

import { sendKeys } from "../lib/keyboard";
import { marked, Text } from "../lib/text";
import { dropDrafts, isWritten, placeOf, setDraft, type Draft } from "./drafts";

/** A comment that is not sent, below its line. */
export function Comment({ task, draft }: { task: string; draft: Draft }): ReactNode {
  const drop = (): void => dropDrafts(task, [draft.id]);
  if (!draft.open || draft.sending) {
    return (
      <div className="comment" data-draft={placeOf(draft)}>
        <div className="body grow"><Text of={draft.text} /></div>
        <span className="muted small">{draft.sending ? "being sent" : "not sent yet"}</span>
        {!draft.sending && <button className="text" onClick={() => setDraft(task, draft.id, { open: true })}>Edit</button>}
        {!draft.sending && <button className="text" onClick={drop}>Delete</button>}
      </div>
    );
  }
  const close = (): void => (isWritten(draft) ? setDraft(task, draft.id, { open: false }) : drop());
  return (
    <form className="comment" data-draft={placeOf(draft)} onSubmit={(e) => { e.preventDefault(); close(); }}>
      <Box task={task} draft={draft} close={close} />
      <button className="primary" disabled={!isWritten(draft)}>Add comment</button>
      <button type="button" onClick={drop}>Discard</button>
    </form>
  );
}

function Box({ task, draft, close }: { task: string; draft: Draft; close: () => void }): ReactNode {
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => box.current!.focus({ preventScroll: true }), []);
  return (
    <textarea ref={box} rows={2} aria-label={marked(`Comment on ${placeOf(draft)}`)} placeholder={`What should the agent change here?   ${sendKeys} adds it`} value={draft.text}
      onChange={(e) => setDraft(task, draft.id, { text: e.target.value })}
      onKeyDown={(e) => {
        if (e.key === "Escape" || e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
          e.preventDefault();
          close();
        }
      }} />
  );
}
