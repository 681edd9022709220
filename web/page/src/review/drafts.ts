import { byTask } from "../lib/by-task";
import { keep, recall, recallList } from "../lib/kept";
import { newKey } from "../lib/key";

/** A comment that is not sent: on a line of the old or of the new file, or on the whole file (line 0). */
export interface Draft {
  id: string;
  /** The comparison on which it was written. */
  from: string;
  to: string;
  path: string;
  side: "old" | "new";
  line: number;
  /** The commented line. */
  quote: string;
  text: string;
  /** Whether it is being written. */
  open: boolean;
  /** Whether it is being sent: until the server has answered, it can be neither changed nor sent again. */
  sending?: boolean;
}

const keys = new Map<string, string>();
const kept = (task: string): string => `omoi.review.${task}`;

const store = byTask<Draft[]>(
  (task) => recallList("sessionStorage", kept(task)),
  (task, drafts) => keep("sessionStorage", kept(task), JSON.stringify(drafts, (name, value: unknown) => (name === "sending" ? undefined : value))),
);

/** The key under which the server takes the drafts once, also if its answer gets lost and they are sent again. Another text makes another one. */
export function keyOf(task: string): string {
  const key = keys.get(task) ?? recall("sessionStorage", `${kept(task)}.key`) ?? newKey();
  keys.set(task, key);
  keep("sessionStorage", `${kept(task)}.key`, key);
  return key;
}

/** What the server would be sent, as text. A comment that opens, closes or is being sent does not change it. */
const written = (drafts: Draft[]): string => JSON.stringify(drafts.filter(isWritten).map((d) => ({ ...d, open: false, sending: undefined })));

function set(task: string, drafts: Draft[]): void {
  if (written(drafts) !== written(store.of(task))) {
    keys.delete(task);
    keep("sessionStorage", `${kept(task)}.key`);
  }
  store.set(task, drafts);
}

export function addDraft(task: string, draft: Omit<Draft, "id" | "text" | "open">): void {
  const same = store.of(task).find((d) => d.path === draft.path && d.side === draft.side && d.line === draft.line && d.from === draft.from && d.to === draft.to);
  if (same === undefined) {
    set(task, [...store.of(task), { ...draft, id: newKey(), text: "", open: true }]);
  } else {
    setDraft(task, same.id, { open: true });
  }
}

export const setDrafts = (task: string, ids: string[], change: Partial<Draft>): void => set(task, store.of(task).map((d) => (ids.includes(d.id) ? { ...d, ...change } : d)));
export const setDraft = (task: string, id: string, change: Partial<Draft>): void => setDrafts(task, [id], change);
export const dropDrafts = (task: string, ids: string[]): void => set(task, store.of(task).filter((d) => !ids.includes(d.id)));

export const draftsOf: (task: string) => readonly Draft[] = store.of;

/** The comments of this tab on a task, kept over a reload. */
export const useDrafts = store.use;

/** Whether a draft has a text. */
export const isWritten = (draft: Draft): boolean => draft.text.trim() !== "";

/** The place of a draft in the usual form: a file and a line. */
export const placeOf = (draft: Draft): string => `${draft.path}${draft.line === 0 ? "" : `:${draft.line}`}${draft.side === "old" ? " (old file)" : ""}`;

/** Drafts by the comparison on which they were written: each comparison is one message. */
export function byComparison(drafts: Draft[]): Draft[][] {
  const groups = new Map<string, Draft[]>();
  for (const draft of drafts.filter(isWritten)) {
    const key = `${draft.from} ${draft.to}`;
    groups.set(key, [...groups.get(key) ?? [], draft]);
  }
  return [...groups.values()];
}
