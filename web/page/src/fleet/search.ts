/** The views of the fleet, in order. */
export const tabs = [
  { id: "capacity", word: "Capacity" },
  { id: "queue", word: "Queue" },
  { id: "sandboxes", word: "Sandboxes" },
  { id: "supervision", word: "Supervision" },
  { id: "usage", word: "Usage" },
  { id: "server", word: "Server" },
] as const;

/** Parts of the list of sandboxes. */
export const shows = [
  { id: "unverified", word: "Deletion not verified" },
  { id: "running", word: "Running" },
  { id: "lost", word: "Lost" },
  { id: "all", word: "All" },
] as const;

/** What guardian, conductor and users did. */
export const records = [
  { id: "verdicts", word: "Verdicts" },
  { id: "interventions", word: "Interventions" },
  { id: "duplicates", word: "Duplicates" },
  { id: "diagnoses", word: "Diagnoses" },
  { id: "actions", word: "Guardian actions" },
] as const;

export const periods = [7, 30, 90] as const;

export interface FleetSearch {
  tab?: (typeof tabs)[number]["id"];
  show?: (typeof shows)[number]["id"];
  list?: (typeof records)[number]["id"];
  days?: (typeof periods)[number];
  by?: "tokens";
  project?: string;
}

/** Reads the address: a bad value falls away. */
export function fleetSearch(raw: Record<string, unknown>): FleetSearch {
  const one = <T extends string>(of: readonly { id: T }[], value: unknown): T | undefined => of.find((o) => o.id === value)?.id;
  const tab = one(tabs, raw["tab"]), show = one(shows, raw["show"]), list = one(records, raw["list"]), days = periods.find((p) => p === raw["days"]);
  return {
    ...(tab && { tab }), ...(show && { show }), ...(list && { list }), ...(days && { days }),
    ...(raw["by"] === "tokens" && { by: "tokens" as const }), ...(typeof raw["project"] === "string" && { project: raw["project"] }),
  };
}
