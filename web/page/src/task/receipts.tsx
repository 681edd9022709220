import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef, type ReactNode } from "react";

import { getCommand, OmoiError, said, type Task } from "../lib/api";
import { when } from "../lib/format";
import { Text } from "../lib/text";
import { addAsked, changeAsked, settled, useAsked, type Asked, type ReceiptList } from "./asked";

export type { Asked, ReceiptList } from "./asked";

/** What a receipt says of a request that failed. A request without an answer may have reached the server. */
export const failure = (error: unknown): Partial<Asked> => (error instanceof OmoiError ? { refused: said(error) } : { unanswered: true });

/** The receipts of this tab, kept over a reload, and asked for until they are settled. */
export function useReceipts(task: Task): ReceiptList {
  const { id } = task, client = useQueryClient(), list = useAsked(id);
  const current = useRef(task); // a busy task changes more often than receipts are asked for
  useEffect(() => {
    current.current = task;
  });
  const open = list.filter((a) => a.id !== undefined && !settled(a)).map((a) => a.id).join(",");
  useEffect(() => {
    if (open === "") {
      return;
    }
    const timer = setInterval(() => {
      for (const sent of document.hidden ? [] : open.split(",")) {
        void getCommand(sent).then((command) => {
          changeAsked(id, (a) => a.id === sent, { command });
          if (command.state !== "accepted") {
            refresh(client, current.current);
          }
        }, (fault: unknown) => { // asked again, unless the command cannot be read any more
          if (fault instanceof OmoiError && [403, 404, 410].includes(fault.problem.status)) {
            changeAsked(id, (a) => a.id === sent, { done: said(fault) });
          }
        });
      }
    }, 1000);
    return () => clearInterval(timer);
  }, [open, client, id]);
  return { list, set: (key, change) => changeAsked(id, (a) => a.key === key, change), add: (asked) => addAsked(id, asked) };
}

/** Asks again for what may have changed. The task itself comes by its stream, while it has one. */
export function refresh(client: QueryClient, task: Task): void {
  void client.invalidateQueries({ predicate: (q) => task.completed_at !== null || q.queryKey[0] !== "task" });
}

const words: Record<string, string> = { accepted: "accepted, under way", carried_out: "applied", too_late: "too late", refused: "rejected" };

/** What was asked last. One click can ask for several things. */
export const newest = <T extends { at: number }>(all: readonly T[]): T[] => all.filter((one) => one.at === all.at(-1)!.at);

/** The newest receipts, and a command of another sender that is under way. */
export function Receipts({ receipts, task }: { receipts: ReceiptList; task: Task }): ReactNode {
  const pending = task.pending_command;
  const foreign = pending != null && !receipts.list.some((a) => a.id === pending.id) ? pending : undefined;
  return (
    <div className="receipts" role="status" aria-live="polite">
      {newest(receipts.list).map((a) => <p key={a.key} data-receipt={a.refused !== undefined ? "refused" : a.unanswered ? "unanswered" : a.done ?? a.command?.state ?? "asked"}><Receipt of={a} /></p>)}
      {foreign !== undefined && <p>{foreign.kind} of <Text of={foreign.sender} />: {words[foreign.state] ?? foreign.state}</p>}
    </div>
  );
}

export function Receipt({ of }: { of: Asked }): ReactNode {
  const c = of.command;
  const bad = of.refused !== undefined || c?.state === "refused" || c?.state === "too_late";
  return (
    <span className={bad ? "bad" : "muted"}>
      <Text of={of.word} />: asked {when(of.at)}
      {c !== undefined && <> → {words[c.state] ?? c.state}{c.settled_at != null && ` ${when(c.settled_at)}`}{bad && c.reason !== "" && <>: <Text of={c.reason} /></>}</>}
      {of.done !== undefined && <> → <Text of={of.done} /></>}
      {of.task !== undefined && <>: <Link to="/tasks/$id" params={{ id: of.task }}>{of.task}</Link></>}
      {of.refused !== undefined && <> → rejected: <Text of={of.refused} /></>}
      {of.unanswered && " → no answer: the server may have the request"}
    </span>
  );
}
