import type { Project } from "../lib/api";

const text = (of: string): string => of;
const number = (of: string): number | undefined => (of.trim() === "" ? undefined : Number(of));
const flag = (of: string): boolean => of === "true";
const unset = (of: string): boolean | null => (of === "" ? null : of === "true");
const some = (of: string): string | undefined => (of.trim() === "" ? undefined : of);
const maybe = (of: string): boolean | undefined => (of === "" ? undefined : of === "true");
const lines = (of: string): string[] | undefined => (of.trim() === "" ? undefined : of.split("\n").filter((line) => line.trim() !== ""));

/** The fields of a project, and how the text of a form becomes their value. */
const fields = {
  name: text, key: text, repo: text, default_branch: text, description: text, setup: text, on_feedback: text, max_concurrent_tasks: number,
  setup_timeout_seconds: Number, autonomous_execution_enabled: flag, allow_agent_messages: flag, auto_steering: unset,
};

/** The settings of a project that omoi reads. */
const settings = {
  validate: maybe, commit_leftovers: maybe, model_prices: some, allowed_paths: lines, forbidden_paths: lines, forbidden_commands: lines, constraints: lines,
};

export type ProjectValues = Record<keyof typeof fields | keyof typeof settings, string>;

const shown = (value: unknown): string => (Array.isArray(value) ? value.join("\n") : value === null || value === undefined ? "" : String(value));

/** Returns the values of a project as texts; all are empty without one. */
export function valuesOf(project?: Project): ProjectValues {
  return Object.fromEntries([
    ...Object.keys(fields).map((name) => [name, shown(project?.[name as keyof Project])]),
    ...Object.keys(settings).map((name) => [name, shown(project?.settings[name as keyof typeof settings])]),
  ]) as ProjectValues;
}

/** Where each field is in the request, as the server names it in errors. */
export const locations = Object.fromEntries([
  ...Object.keys(fields).map((name) => [name, `body.${name}`]), ...Object.keys(settings).map((name) => [name, `body.settings.${name}`]),
]) as ProjectValues;

/**
 * The fields that a user changed since the form was opened on a project. The server replaces all settings, so that the others
 * are sent too, as they are now.
 */
export function changesOf(values: ProjectValues, opened?: Project, now = opened): Record<string, unknown> {
  const was = valuesOf(opened);
  const changed = <T extends object>(of: T): [string, unknown][] => Object.entries(of)
    .filter(([name]) => values[name as keyof ProjectValues] !== was[name as keyof ProjectValues])
    .map(([name, read]) => [name, (read as (of: string) => unknown)(values[name as keyof ProjectValues])]);
  const own = changed(settings);
  return { ...Object.fromEntries(changed(fields)), ...(own.length > 0 && { settings: { ...now?.settings, ...Object.fromEntries(own) } }) };
}
