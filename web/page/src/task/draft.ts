import { useSyncExternalStore } from "react";

import { keep, recall } from "../lib/kept";
import { newKey } from "../lib/key";

/** A text for the agent that is not sent. The key makes one message of it, also if the text is sent again after a reload. */
export interface Draft { text: string; key: string }

const cache = new Map<string, Draft>(), readers = new Set<() => void>();
const kept = (task: string): string => `omoi.draft.${task}`;

export function draftOf(task: string): Draft {
  if (!cache.has(task)) {
    cache.set(task, { text: recall("sessionStorage", kept(task)) ?? "", key: recall("sessionStorage", `${kept(task)}.key`) ?? newKey() });
  }
  return cache.get(task)!;
}

/** Changes a draft. Another text has another key. */
export function write(task: string, text: string): void {
  const draft = { text, key: newKey() };
  cache.set(task, draft);
  keep("sessionStorage", kept(task), text === "" ? undefined : text);
  keep("sessionStorage", `${kept(task)}.key`, text === "" ? undefined : draft.key);
  readers.forEach((reader) => reader());
}

/** Removes a draft that the server has, unless the user has changed it since. */
export function drop(task: string, sent: Draft): void {
  if (draftOf(task) === sent) {
    write(task, "");
  }
}

/** The draft of this tab for a task, kept over a reload. */
export function useDraft(task: string): Draft {
  const read = (): Draft => draftOf(task);
  return useSyncExternalStore((changed) => {
    readers.add(changed);
    return () => readers.delete(changed);
  }, read, read);
}
