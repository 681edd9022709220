import { useMutation, useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useState, type ReactNode } from "react";

import { now } from "../lib/clock";
import { Dialog } from "../lib/dialog";
import { useMay } from "../lib/session";
import { newKey } from "../lib/key";
import { Text } from "../lib/text";
import { failure, Receipt, type Asked } from "../task/receipts";

/** What this tab asked of the server, newest last. */
export interface Log { list: Asked[]; put: (asked: Asked) => void }

const Receipts = createContext<Log>({ list: [], put: () => undefined });

export const useReceiptLog = (): Log => useContext(Receipts);

/** Keeps the receipts of the actions below it. */
export function WithReceipts({ children }: { children: ReactNode }): ReactNode {
  const [list, setList] = useState<Asked[]>([]);
  const put = (asked: Asked): void => setList((was) => [...was.filter((a) => a.key !== asked.key), asked].slice(-5));
  return <Receipts value={{ list, put }}>{children}</Receipts>;
}

/** Sends requests, and keeps their receipts. What they change is read again. */
export function useAsk(): { pending: boolean; ask: (word: string, send: () => Promise<string>) => void } {
  const { put } = useReceiptLog(), client = useQueryClient();
  const sending = useMutation({
    mutationFn: ({ asked, send }: { asked: Asked; send: () => Promise<string> }) => send().then((done) => put({ ...asked, done })),
    onError: (error, { asked }) => put({ ...asked, ...failure(error) }),
    onSettled: () => void client.invalidateQueries(),
  });
  const ask = (word: string, send: () => Promise<string>): void => {
    const asked: Asked = { key: newKey(), word, at: now() };
    put(asked);
    sending.mutate({ asked, send });
  };
  return { pending: sending.isPending, ask };
}

/** The newest receipt. */
export function LastReceipt(): ReactNode {
  const last = useReceiptLog().list.at(-1);
  return (
    <div className="receipts" role="status" aria-live="polite">
      {last !== undefined && <p data-receipt={last.refused !== undefined ? "refused" : last.unanswered ? "unanswered" : last.done !== undefined ? "done" : "asked"}><Receipt of={last} /></p>}
    </div>
  );
}

export interface Action {
  /** The button, and what it acts on. */
  word: string;
  of: string;
  title: string;
  yes: string;
  effects: string[];
  danger?: boolean;
  /** The scope without which the server refuses. */
  scope: "write" | "admin";
  reason?: "optional" | "required";
  /** Sends the request, and says what the server answered. */
  send: (reason: string) => Promise<string>;
}

/** A button that says what it does before it does so. Callers without the scope see none. */
export function Act(action: Action): ReactNode {
  const [open, setOpen] = useState(false), may = useMay(action.scope);
  return may && (
    <>
      <button onClick={() => setOpen(true)}>{action.word}<span className="hidden-text"> <Text of={action.of} /></span></button>
      {open && <Confirm action={action} close={() => setOpen(false)} />}
    </>
  );
}

function Confirm({ action, close }: { action: Action; close: () => void }): ReactNode {
  const { ask } = useAsk();
  const [reason, setReason] = useState("");
  const submit = (): void => {
    ask(`${action.word.replace("…", "")} ${action.of}`, () => action.send(reason.trim()));
    close();
  };
  return (
    <Dialog title={action.title} yes={action.yes} danger={action.danger} ready={action.reason !== "required" || reason.trim() !== ""} submit={submit} close={close}>
      <ul>{action.effects.map((e) => <li key={e}><Text of={e} /></li>)}</ul>
      {action.reason !== undefined && (
        <div>
          <label htmlFor="reason">Reason {action.reason === "optional" && <span className="muted">(optional)</span>}</label>
          <input id="reason" className="wide-input" value={reason} maxLength={2000} onChange={(e) => setReason(e.target.value)} />
        </div>
      )}
    </Dialog>
  );
}

/** The body of a request with an optional reason. */
export const because = (reason: string) => (reason === "" ? {} : { reason });
