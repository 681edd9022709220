import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState, type ReactNode } from "react";

import { api, unwrap } from "../lib/api";
import { now } from "../lib/clock";
import { Dialog } from "../lib/dialog";
import { Check } from "../lib/fields";
import { many } from "../lib/format";
import { newKey } from "../lib/key";
import { useMay } from "../lib/session";
import { failure, type Asked } from "../task/receipts";
import { because, useReceiptLog } from "./act";

interface Of { id: string; key: string; paused: boolean }

/** A button that pauses a project, or resumes it. */
export function Pause({ of }: { of: Of }): ReactNode {
  const [open, setOpen] = useState(false), may = useMay("write"), { put } = useReceiptLog();
  return may && (
    <>
      <button onClick={() => setOpen(true)}>{of.paused ? "Resume…" : "Pause…"}<span className="hidden-text"> {of.key}</span></button>
      {open && <PauseDialog of={of} put={put} close={() => setOpen(false)} />}
    </>
  );
}

/** Pauses a project, or resumes it. put shows the receipt: first that it was asked, then what the server said. */
export function PauseDialog({ of, put, close }: { of: Of; put: (asked: Asked) => void; close: () => void }): ReactNode {
  const [reason, setReason] = useState(""), [suspend, setSuspend] = useState(false), client = useQueryClient(), id = useId();
  const send = useMutation({
    mutationFn: (asked: Asked) => ask(of, reason.trim(), suspend).then((done) => put({ ...asked, done })),
    onError: (error, asked) => put({ ...asked, ...failure(error) }),
    onSettled: () => void client.invalidateQueries({ predicate: (q) => q.queryKey[0] !== "task" }), // a task comes by its stream
  });
  const word = of.paused ? "Resume" : "Pause";
  const submit = (): void => {
    const asked: Asked = { key: newKey(), word: `${word} ${of.key}`, at: now() };
    put(asked);
    send.mutate(asked);
    close();
  };
  return (
    <Dialog title={`${word} ${of.key}?`} yes={`${word} the project`} danger={!of.paused} submit={submit} close={close}>
      {of.paused
        ? <ul><li>The project starts tasks again.</li><li>Tasks that the pause suspended resume.</li></ul>
        : <><ul><li>The project starts no task until a user resumes it.</li><li>Running tasks continue, unless you suspend them too.</li></ul><Check label="Suspend running tasks too; their work is saved" checked={suspend} change={setSuspend} /></>}
      <div><label htmlFor={id}>Reason <span className="muted">(optional)</span></label><input id={id} className="wide-input" value={reason} maxLength={2000} onChange={(e) => setReason(e.target.value)} /></div>
    </Dialog>
  );
}

/** Sends the request, and says what the server did. */
async function ask(of: Of, reason: string, suspend: boolean): Promise<string> {
  const params = { path: { id: of.id } }, body = because(reason);
  const { project, task_ids } = await unwrap(of.paused
    ? api.POST("/api/v1/projects/{id}/resume", { params, body })
    : api.POST("/api/v1/projects/{id}/pause", { params, body: { ...body, now: suspend } }));
  return `the project ${project.paused ? "is paused" : "starts tasks"}${task_ids.length > 0 ? `; ${many(task_ids.length, "task")} asked to ${project.paused ? "suspend" : "resume"}` : ""}`;
}
