import { byTask } from "../lib/by-task";
import { keep, recall } from "../lib/kept";
import { newKey } from "../lib/key";

/** A text for the agent that is not sent. The key makes one message of it, also if the text is sent again after a reload. */
export interface Draft { text: string; key: string }

const kept = (task: string): string => `omoi.draft.${task}`;

const store = byTask<Draft>(
  (task) => ({ text: recall("sessionStorage", kept(task)) ?? "", key: recall("sessionStorage", `${kept(task)}.key`) ?? newKey() }),
  (task, { text, key }) => {
    keep("sessionStorage", kept(task), text === "" ? undefined : text);
    keep("sessionStorage", `${kept(task)}.key`, text === "" ? undefined : key);
  },
);

export const draftOf = store.of;

/** The draft of this tab for a task, kept over a reload. */
export const useDraft = store.use;

/** Changes a draft. Another text has another key. */
export const write = (task: string, text: string): void => store.set(task, { text, key: newKey() });

/** Removes a draft that the server has, unless the user has changed it since. */
export function drop(task: string, sent: Draft): void {
  if (draftOf(task) === sent) {
    write(task, "");
  }
}
