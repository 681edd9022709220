export interface CompareSearch { a?: string; b?: string; all?: boolean }

/** Reads the address: a bad value falls away. */
export function compareSearch(raw: Record<string, unknown>): CompareSearch {
  const text = (value: unknown): string | undefined => (typeof value === "string" && sideOf(value) !== undefined ? value : undefined);
  return { ...(text(raw["a"]) && { a: text(raw["a"]) }), ...(text(raw["b"]) && { b: text(raw["b"]) }), ...(raw["all"] === true && { all: true }) };
}

/** A task and its attempt, as in APP-12:2. Without a number: the newest attempt. */
export function sideOf(text: string): { id: string; attempt?: number } | undefined {
  const found = /^([A-Za-z0-9-]{1,80})(?::(\d{1,6}))?$/.exec(text.trim());
  return found === null ? undefined : { id: found[1]!, ...(found[2] !== undefined && { attempt: Number(found[2]) }) };
}
