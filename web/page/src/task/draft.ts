import { byTask } from "../lib/by-task";
import { keep, recall } from "../lib/kept";
import { newKey } from "../lib/key";

/**
 * A text for the agent that is not sent. The key makes one message of it, also if the text is sent again after a reload.
 * question: the question under which the text was begun; empty: none.
 */
export interface Draft { text: string; key: string; question: string }

const kept = (task: string): string => `omoi.draft.${task}`;

const store = byTask<Draft>(
  (task) => ({ text: recall("sessionStorage", kept(task)) ?? "", key: recall("sessionStorage", `${kept(task)}.key`) ?? newKey(), question: recall("sessionStorage", `${kept(task)}.question`) ?? "" }),
  (task, { text, key, question }) => {
    keep("sessionStorage", kept(task), text === "" ? undefined : text);
    keep("sessionStorage", `${kept(task)}.key`, text === "" ? undefined : key);
    keep("sessionStorage", `${kept(task)}.question`, text === "" ? undefined : question);
  },
);

export const draftOf = store.of;

/** The draft of this tab for a task, kept over a reload. */
export const useDraft = store.use;

/** Changes a draft. Another text has another key, and keeps the question under which it was begun. */
export function write(task: string, text: string, question = ""): void {
  const was = draftOf(task);
  store.set(task, { text, key: newKey(), question: was.text === "" ? question : was.question });
}

/** Makes a draft the answer to another question. */
export const moveTo = (task: string, question: string): void => store.set(task, { ...draftOf(task), question });

/** The name of a question of an attempt. event: the number of the message that asks; 0: not known. */
export const questionOf = (attempt: number, event: number): string => `${attempt}:${event}`;

/** Whether a draft was begun under another question than the one that is shown. */
export function isOfOther(draft: Draft, question: string): boolean {
  const [attempt, event] = draft.question.split(":"), [now, shown] = question.split(":");
  return draft.text !== "" && draft.question !== "" && (attempt !== now || ![event, shown].includes("0") && event !== shown);
}

/** Whether a draft was begun while the number of its question was not known, and it is now. */
export function isNamedBy(draft: Draft, question: string): boolean {
  const [attempt, event] = draft.question.split(":"), [now, shown] = question.split(":");
  return event === "0" && attempt === now && shown !== "0";
}

/** Removes a draft that the server has, unless the user has changed it since. */
export function drop(task: string, sent: Draft): void {
  if (draftOf(task) === sent) {
    write(task, "");
  }
}
