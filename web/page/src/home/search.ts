/** The groups of the API in order, with the word that the page shows and the look of their state. */
export const groups = [
  { id: "needs_you", word: "Needs you", look: "waiting" },
  { id: "running", word: "Running", look: "running" },
  { id: "checking", word: "Checking", look: "validating" },
  { id: "waiting", word: "Waiting", look: "pending" },
  { id: "done", word: "Done", look: "completed" },
  { id: "failed", word: "Failed", look: "failed" },
  { id: "cancelled", word: "Cancelled", look: "cancelled" },
] as const;

export type GroupID = (typeof groups)[number]["id"];

export const openGroups = groups.slice(0, 4), endedGroups = groups.slice(4);

export interface HomeSearch { group?: GroupID; project?: string; q?: string; as?: "board" }

/** Reads the address: a bad value falls away. */
export function homeSearch(raw: Record<string, unknown>): HomeSearch {
  const group = groups.find((g) => g.id === raw["group"])?.id, q = raw["q"];
  return {
    ...(group && { group }),
    ...(typeof raw["project"] === "string" && { project: raw["project"] }),
    ...((typeof q === "string" || typeof q === "number") && String(q).trim() !== "" && { q: String(q) }),
    ...(raw["as"] === "board" && { as: "board" as const }),
  };
}
