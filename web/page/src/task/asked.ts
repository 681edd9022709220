import type { Command } from "../lib/api";
import { byTask } from "../lib/by-task";
import { keep, recallList } from "../lib/kept";

/** A command that this browser sent: asked is all the page knows before the server answers. */
export interface Asked { key: string; word: string; at: number; id?: string; command?: Command; refused?: string; unanswered?: true; done?: string; task?: string }

export interface ReceiptList {
  list: Asked[];
  /** Adds a receipt, in place of one with the same key. */
  add: (asked: Asked) => void;
  set: (key: string, change: Partial<Asked>) => void;
}

export const settled = (a: Asked): boolean => a.refused !== undefined || a.unanswered === true || a.done !== undefined || a.command !== undefined && a.command.state !== "accepted";

/** A receipt after a reload: the answer to a request of the page before does not come any more. */
const restored = (a: Asked): Asked => (a.id === undefined && !settled(a) ? { ...a, unanswered: true } : a);

const kept = (task: string): string => `omoi.asked.${task}`;

const store = byTask<Asked[]>(
  (task) => recallList<Asked>("sessionStorage", kept(task)).map(restored),
  (task, list) => keep("sessionStorage", kept(task), JSON.stringify(list)),
);

export const askedOf = store.of;

/** The receipts of this tab for a task, kept over a reload. */
export const useAsked = store.use;

export const addAsked = (task: string, asked: Asked): void => store.set(task, [...askedOf(task).filter((a) => a.key !== asked.key).slice(-9), asked]);

/** Changes the receipts that match, also after the reader has left the page on which the command was sent. */
export const changeAsked = (task: string, matches: (a: Asked) => boolean, change: Partial<Asked>): void =>
  store.set(task, askedOf(task).map((a) => (matches(a) ? { ...a, ...change } : a)));
