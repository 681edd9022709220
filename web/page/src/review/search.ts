/** What the address of a review says. Points are written attempt-2 and checkpoint-2.10, since a number would lose its last zero. */
export interface ChangesSearch { from?: string; to?: string; path?: string; split?: boolean; context?: number; whitespace?: "ignore"; tab?: "tests" }

const point = /^(base|latest|attempt-\d{1,6}|checkpoint-\d{1,6}\.\d{1,9})$/;

/** Reads the address: a bad value falls away. */
export function changesSearch(raw: Record<string, unknown>): ChangesSearch {
  const { from, to, path, split, context, whitespace, tab } = raw;
  return {
    ...(typeof from === "string" && point.test(from) && from !== "base" && { from }),
    ...(typeof to === "string" && point.test(to) && to !== "latest" && { to }),
    ...((typeof path === "string" || typeof path === "number" || typeof path === "boolean") && path !== "" && { path: String(path) }),
    ...(typeof split === "boolean" && { split }),
    ...(Number.isInteger(context) && (context as number) >= 0 && (context as number) <= 10_000 && context !== 3 && { context: context as number }),
    ...(whitespace === "ignore" && { whitespace }),
    ...(tab === "tests" && { tab }),
  };
}

/** The name of a point for the server, and back. */
export const toServer = (word: string): string => word.replace(/^(attempt|checkpoint)-/, "");
export const fromServer = (name: string): string => (/^\d+$/.test(name) ? `attempt-${name}` : /^\d/.test(name) ? `checkpoint-${name}` : name);
