import { keep, recall } from "./lib/kept";

/** What the user chose in the settings; system follows the browser. */
export type Theme = "system" | "light" | "dark";

const key = "omoi.theme";

export function theme(): Theme {
  const kept = recall("localStorage", key);
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** Applies and keeps a theme. */
export function setTheme(to: Theme): void {
  document.documentElement.dataset.theme = to;
  keep("localStorage", key, to);
}

document.documentElement.dataset.theme = theme();
