import { useSyncExternalStore } from "react";

import type { Command } from "../lib/api";
import { keep, recallList } from "../lib/kept";

/** A command that this browser sent: asked is all the page knows before the server answers. */
export interface Asked { key: string; word: string; at: number; id?: string; command?: Command; refused?: string; unanswered?: true; done?: string; task?: string }

export interface ReceiptList {
  list: Asked[];
  /** Adds a receipt, in place of one with the same key. */
  add: (asked: Asked) => void;
  set: (key: string, change: Partial<Asked>) => void;
}

const cache = new Map<string, Asked[]>(), readers = new Set<() => void>();
const kept = (task: string): string => `omoi.asked.${task}`;

export const settled = (a: Asked): boolean => a.refused !== undefined || a.unanswered === true || a.done !== undefined || a.command !== undefined && a.command.state !== "accepted";

/** A receipt after a reload: the answer to a request of the page before does not come any more. */
const restored = (a: Asked): Asked => (a.id === undefined && !settled(a) ? { ...a, unanswered: true } : a);

export function askedOf(task: string): Asked[] {
  if (!cache.has(task)) {
    cache.set(task, recallList<Asked>("sessionStorage", kept(task)).map(restored));
  }
  return cache.get(task)!;
}

function put(task: string, list: Asked[]): void {
  cache.set(task, list);
  keep("sessionStorage", kept(task), JSON.stringify(list));
  readers.forEach((reader) => reader());
}

export const addAsked = (task: string, asked: Asked): void => put(task, [...askedOf(task).filter((a) => a.key !== asked.key).slice(-9), asked]);

/** Changes the receipts that match, also after the reader has left the page on which the command was sent. */
export const changeAsked = (task: string, matches: (a: Asked) => boolean, change: Partial<Asked>): void =>
  put(task, askedOf(task).map((a) => (matches(a) ? { ...a, ...change } : a)));

/** The receipts of this tab for a task, kept over a reload. */
export function useAsked(task: string): Asked[] {
  return useSyncExternalStore((changed) => {
    readers.add(changed);
    return () => readers.delete(changed);
  }, () => askedOf(task));
}
