export const tabs = ["general", "projects", "credentials", "notices", "keys"] as const;
export type Tab = (typeof tabs)[number];

/** project: the key of the project that is edited; new: one that is created. */
export interface SettingsSearch { tab?: Tab; project?: string }

/** Reads the address: a bad value falls away. */
export function settingsSearch(raw: Record<string, unknown>): SettingsSearch {
  const tab = tabs.find((t) => t === raw["tab"]), project = raw["project"];
  return { ...(tab && tab !== "general" && { tab }), ...(typeof project === "string" && { project }) };
}
