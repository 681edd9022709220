import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState, type ReactNode } from "react";

import { getCommand, OmoiError, said, type Command, type Task } from "../lib/api";
import { clock } from "../lib/format";
import { keep, recallList } from "../lib/kept";
import { Text } from "../lib/text";

/** A command that this browser sent: asked is all the page knows before the server answers. */
export interface Asked { key: string; word: string; at: number; id?: string; command?: Command; refused?: string; unanswered?: true; done?: string; task?: string }

export interface ReceiptList {
  list: Asked[];
  /** Adds a receipt, in place of one with the same key. */
  add: (asked: Asked) => void;
  set: (key: string, change: Partial<Asked>) => void;
}

const settled = (a: Asked): boolean => a.refused !== undefined || a.unanswered === true || a.done !== undefined || a.command !== undefined && a.command.state !== "accepted";

/** What a receipt says of a request that failed. A request without an answer may have reached the server. */
export const failure = (error: unknown): Partial<Asked> => (error instanceof OmoiError ? { refused: said(error) } : { unanswered: true });

/** The receipts of this tab, kept over a reload, and asked for until they are settled. */
export function useReceipts(task: Task): ReceiptList {
  const kept = `omoi.asked.${task.id}`, client = useQueryClient();
  const [list, setList] = useState<Asked[]>(() => recallList("sessionStorage", kept));
  useEffect(() => keep("sessionStorage", kept, JSON.stringify(list)), [kept, list]);
  const set = (key: string, change: Partial<Asked>): void => setList((was) => was.map((a) => (a.key === key ? { ...a, ...change } : a)));
  const open = list.filter((a) => a.id !== undefined && !settled(a)).map((a) => a.id).join(",");
  useEffect(() => {
    if (open === "") {
      return;
    }
    const timer = setInterval(() => {
      for (const id of document.hidden ? [] : open.split(",")) {
        void getCommand(id).then((command) => {
          setList((was) => was.map((a) => (a.id === id ? { ...a, command } : a)));
          if (command.state !== "accepted") {
            refresh(client, task);
          }
        }, (fault: unknown) => { // asked again, unless the command cannot be read any more
          if (fault instanceof OmoiError && [403, 404, 410].includes(fault.problem.status)) {
            setList((was) => was.map((a) => (a.id === id ? { ...a, done: said(fault) } : a)));
          }
        });
      }
    }, 1000);
    return () => clearInterval(timer);
  }, [open, client, task]);
  return { list, set, add: (asked) => setList((was) => [...was.filter((a) => a.key !== asked.key).slice(-9), asked]) };
}

/** Asks again for what may have changed. The task itself comes by its stream, while it has one. */
export function refresh(client: QueryClient, task: Task): void {
  void client.invalidateQueries({ predicate: (q) => task.completed_at !== null || q.queryKey[0] !== "task" });
}

const words: Record<string, string> = { accepted: "accepted, under way", carried_out: "applied", too_late: "too late", refused: "rejected" };

/** What was asked last. One click can ask for several things. */
export const newest = <T extends { at: number }>(all: readonly T[]): T[] => all.filter((one) => one.at === all.at(-1)!.at);

/** The newest receipts, and a command of somebody else that is under way. */
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
      <Text of={of.word} />: asked {clock(of.at)}
      {c !== undefined && <> → {words[c.state] ?? c.state}{c.settled_at != null && ` ${clock(c.settled_at)}`}{bad && c.reason !== "" && <>: <Text of={c.reason} /></>}</>}
      {of.done !== undefined && <> → <Text of={of.done} /></>}
      {of.task !== undefined && <>: <Link to="/tasks/$id" params={{ id: of.task }}>{of.task}</Link></>}
      {of.refused !== undefined && <> → rejected: <Text of={of.refused} /></>}
      {of.unanswered && " → no answer: the server may have the request"}
    </span>
  );
}
