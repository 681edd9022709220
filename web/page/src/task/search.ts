import { classes, type Class } from "../timeline/layout";

export const tabs = ["timeline", "output", "messages", "receipts", "details"] as const;
export type Tab = (typeof tabs)[number];

interface TaskSearch { tab?: Tab; attempt?: number; every?: boolean; only?: Class; tool?: string; find?: string; numbers?: boolean }

/** Reads the address: a bad value falls away. */
export function taskSearch(raw: Record<string, unknown>): TaskSearch {
  const tab = tabs.find((t) => t === raw["tab"]), attempt = Number(raw["attempt"]);
  return {
    ...(tab && tab !== "timeline" && { tab }),
    ...(Number.isInteger(attempt) && attempt > 0 && { attempt }),
    ...(Object.hasOwn(classes, String(raw["only"])) && { only: raw["only"] as Class }),
    ...(typeof raw["tool"] === "string" && { tool: raw["tool"] }),
    ...(raw["find"] !== undefined && String(raw["find"]) !== "" && { find: String(raw["find"]) }),
    ...(raw["every"] === true && { every: true }),
    ...(raw["numbers"] === true && { numbers: true }),
  };
}

/** The attempt that the address names, by its fragment or its search. One that the task does not have falls away. */
export function pinnedTo(attempts: ReadonlyMap<number, unknown>, hash: string, search: TaskSearch): number | undefined {
  return [eventOf(hash)?.attempt, search.attempt].find((n) => n !== undefined && attempts.has(n));
}

/** The event that a fragment names, as in #e2:118. */
export function eventOf(hash: string): { attempt: number; sequence: number } | undefined {
  const found = /^#?e(\d{1,6}):(\d{1,9})$/.exec(hash);
  return found === null ? undefined : { attempt: Number(found[1]), sequence: Number(found[2]) };
}
