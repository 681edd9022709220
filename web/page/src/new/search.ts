/** from: the task that the new one resembles. project: the chosen project, by ID or key. */
export interface NewSearch { from?: string; project?: string }

/** Reads the address: a bad value falls away. */
export function newSearch(raw: Record<string, unknown>): NewSearch {
  return { ...(typeof raw["from"] === "string" && { from: raw["from"] }), ...(typeof raw["project"] === "string" && { project: raw["project"] }) };
}
