import { useState } from "react";

import { keep, recall } from "../lib/kept";
import { newKey } from "../lib/key";
import { empty, type Values } from "./form";

/** A form that is not sent yet. Its key makes one task of all requests that it sends. */
interface Draft { key: string; values: Values }

const nameOf = (from: string): string => `omoi.new${from === "" ? "" : `.${from}`}`;

function kept(from: string): Draft | undefined {
  try {
    const draft = JSON.parse(recall("sessionStorage", nameOf(from)) ?? "") as Draft;
    return { key: draft.key, values: { ...empty, ...draft.values } };
  } catch {
    return undefined; // there is none, or another version of the page wrote it
  }
}

/** Keeps a form until it has become a task: over a reload and a login. from: the task that it resembles. */
export function useDraft(from: string, begin: () => Values) {
  const [draft, setDraft] = useState<Draft>(() => kept(from) ?? { key: newKey(), values: begin() });
  const save = (next: Draft): void => {
    setDraft(next);
    keep("sessionStorage", nameOf(from), JSON.stringify(next));
  };
  return {
    ...draft,
    change: (to: Partial<Values>): void => save({ ...draft, values: { ...draft.values, ...to } }),
    /** Keeps what is sent now, with its key. */
    keep: (key: string): void => save({ ...draft, key }),
    drop: (): void => keep("sessionStorage", nameOf(from)),
    reset: (): void => {
      keep("sessionStorage", nameOf(from));
      setDraft({ key: newKey(), values: begin() });
    },
  };
}
