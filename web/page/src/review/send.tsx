import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { api, getTask, unwrap, type Task } from "../lib/api";
import { now } from "../lib/clock";
import { Dialog } from "../lib/dialog";
import { many } from "../lib/format";
import { newKey } from "../lib/key";
import { useMay } from "../lib/session";
import { marked, Text } from "../lib/text";
import { failure, type Asked, type ReceiptList } from "../task/receipts";
import { remember } from "../task/sent";
import { deliveryTo } from "./delivery";
import { byComparison, dropDrafts, isWritten, keyOf, placeOf, setDrafts, useDrafts, type Draft } from "./drafts";
import { fromServer } from "./search";

interface Props { task: Task; receipts: ReceiptList; open: (draft: Draft) => void }

/** The comments that are not sent, and the way to send them. */
export function Send({ task, receipts, open }: Props): ReactNode {
  const drafts = useDrafts(task.id).filter((d) => isWritten(d) && !d.sending), [asked, ask] = useState(false), may = useMay("write");
  if (drafts.length === 0 || !may) {
    return null;
  }
  const word = wordOf(drafts);
  return (
    <section className="drafts" aria-label="Comments that are not sent">
      <b>{word}, not sent</b>
      <span className="grow chips">
        {drafts.map((d) => <button key={d.id} className="text small" title={marked(d.text)} onClick={() => open(d)}><Text of={placeOf(d)} /></button>)}
      </span>
      <button className="primary" onClick={() => ask(true)}>Send {word} to the agent…</button>
      {asked && <Confirm task={task} drafts={drafts} word={word} receipts={receipts} close={() => ask(false)} />}
    </section>
  );
}

const wordOf = (drafts: Draft[]): string => many(drafts.length, "comment");

function Confirm({ task, drafts, word, receipts, close }: { task: Task; drafts: Draft[]; word: string; receipts: ReceiptList; close: () => void }): ReactNode {
  const client = useQueryClient();
  const send = useMutation({ mutationFn: () => sendAll(task, drafts, receipts), onSettled: () => void client.invalidateQueries() });
  const submit = (): void => {
    send.mutate();
    close();
  };
  return (
    <Dialog title={`Send ${word} to the agent?`} yes={`Send ${word}`} submit={submit} close={close}>
      <p>{deliveryTo(task)}</p>
    </Dialog>
  );
}

/** Sends comments, which cannot be changed meanwhile. */
export async function sendAll(task: Task, drafts: Draft[], receipts: ReceiptList): Promise<void> {
  const ids = drafts.map((d) => d.id);
  setDrafts(task.id, ids, { sending: true });
  await sendEach(task, drafts, receipts).finally(() => setDrafts(task.id, ids, { sending: false }));
}

/** Sends the comments of each comparison, with a receipt of its own. After a refusal the others stay here, not sent. */
async function sendEach(task: Task, drafts: Draft[], receipts: ReceiptList): Promise<void> {
  const groups = byComparison(drafts), at = now();
  for (const group of groups) {
    const { from, to } = group[0]!, of = groups.length === 1 ? "" : ` on ${fromServer(from)} → ${fromServer(to)}`;
    const asked: Asked = { key: newKey(), word: `Send ${wordOf(group)}${of}`, at };
    receipts.add(asked);
    try {
      receipts.set(asked.key, await post(task, group, at));
    } catch (error) {
      receipts.set(asked.key, failure(error));
      return;
    }
    dropDrafts(task.id, group.map((d) => d.id));
  }
}

/** Sends the comments of one comparison, and returns what the server did with them. */
async function post(task: Task, drafts: Draft[], at: number): Promise<Partial<Asked>> {
  const { from, to } = drafts[0]!;
  const comments = drafts.map((d) => ({ path: d.path, side: d.side, line: d.line, text: d.text.trim(), ...(d.quote !== "" && { quote: d.quote }) }));
  const sent = await unwrap(api.POST("/api/v1/tasks/{id}/comments", {
    params: { path: { id: task.id }, header: { "Idempotency-Key": keyOf(task.id) } }, body: { from, to, comments },
  }));
  if (sent.delivery === "message") {
    remember(task.id, { id: sent.message_id, kind: "review", text: sent.text, at });
    return { done: "one message to the agent" };
  }
  if (sent.delivery === "task") {
    const key = await getTask(sent.task_id).then((t) => t.key, () => sent.task_id);
    return { done: "a new task continues the branch with the comments", task: key };
  }
  return sent.command != null ? { id: sent.command.id, command: sent.command } : { done: sent.delivery };
}
