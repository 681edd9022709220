import type { Schemas } from "@omoi/client";

import type { Task } from "../lib/api";

export type TaskRequest = Schemas["CreateTaskRequest"];

/** What a user typed, by field. An empty text leaves the value to the server. */
export const empty = {
  description: "", title: "", project: "", repo: "", agent: "", provider: "", mode: "", usd: "", tokens: "", minutes: "", after: "", command: "", script: "",
  priority: "", deadline: "", retries: "", validate: "", continuous: "", wait: "", tests: "", setup: "", credentials: "", allowed: "", forbidden: "", commands: "", constraints: "",
};

export type Values = typeof empty;

/** Where each field is in the request, as the server names it in errors. */
export const locations: Record<keyof Values, string> = {
  description: "body.description", title: "body.title", project: "body.project_id", repo: "body.repo", agent: "body.agent", provider: "body.provider", mode: "body.mode",
  usd: "body.budget.usd", tokens: "body.budget.tokens", minutes: "body.budget.wall_clock_s", after: "body.dependencies.depends_on",
  command: "body.execution_config.command", script: "body.execution_config.script", priority: "body.priority", deadline: "body.deadline_at", retries: "body.max_retries",
  validate: "body.validate", continuous: "body.execution_config.continuous", wait: "body.execution_config.wait_for_messages",
  tests: "body.execution_config.test_command", setup: "body.execution_config.setup", credentials: "body.execution_config.credentials",
  allowed: "body.execution_config.allowed_paths", forbidden: "body.execution_config.forbidden_paths", commands: "body.execution_config.forbidden_commands",
  constraints: "body.execution_config.constraints",
};

const some = <T>(list: T[]): T[] | undefined => (list.length > 0 ? list : undefined);
const lines = (text: string): string[] | undefined => some(text.split("\n").filter((line) => line.trim() !== ""));
export const keys = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== "");
const text = (of: string): string | undefined => (of.trim() === "" ? undefined : of);
const number = (of: string): number | undefined => (of.trim() === "" ? undefined : Number(of));
const flag = (of: string): boolean | undefined => (of === "" ? undefined : of === "true");

/** Drops what is not set; undefined if nothing is. */
function set<T extends object>(of: T): T | undefined {
  const kept = Object.entries(of).filter(([, value]) => value !== undefined);
  return kept.length === 0 ? undefined : (Object.fromEntries(kept) as T);
}

/** Returns the script as JSON. A text that is not JSON stays a text, which the server refuses. */
function json(of: string): unknown {
  try {
    return text(of) === undefined ? undefined : JSON.parse(of);
  } catch {
    return of;
  }
}

/** The request to create the task of a form. The agent is the chosen one, or the default of the server: each has its own field. */
export function requestOf(v: Values, agent: string | undefined = v.agent): TaskRequest {
  const minutes = number(v.minutes), after = keys(v.after);
  return (set({
    title: text(v.title), description: text(v.description), ...(v.project !== "" ? { project_id: v.project } : { repo: text(v.repo) }),
    agent: text(v.agent), provider: text(v.provider), mode: text(v.mode), priority: text(v.priority), max_retries: number(v.retries), validate: flag(v.validate),
    deadline_at: v.deadline === "" ? undefined : new Date(v.deadline).toISOString(),
    budget: set({ usd: number(v.usd), tokens: number(v.tokens), wall_clock_s: minutes === undefined ? undefined : Math.round(minutes * 60) }),
    dependencies: after.length === 0 ? undefined : { depends_on: after },
    execution_config: set({
      command: agent === "command" ? lines(v.command) : undefined, script: agent === "scripted" ? json(v.script) : undefined,
      continuous: flag(v.continuous), wait_for_messages: flag(v.wait), test_command: text(v.tests), setup: text(v.setup), credentials: some(keys(v.credentials)),
      allowed_paths: lines(v.allowed), forbidden_paths: lines(v.forbidden), forbidden_commands: lines(v.commands), constraints: lines(v.constraints),
    }),
  }) ?? {}) as TaskRequest;
}

const shown = (n: number | undefined): string => (n ? String(n) : "");
const joined = (list: readonly string[] | null | undefined): string => (list ?? []).join("\n");
const said = (of: boolean | undefined): string => (of === undefined ? "" : String(of));

/** The values with which a task was created, for another one like it. after: the tasks that it started after, as far as they exist. */
export function valuesOf(task: Task, after: Task[]): Values {
  const e = task.execution_config, seconds = task.budget.wall_clock_s;
  return {
    ...empty, description: task.description, title: task.title, project: task.project_id, agent: task.agent, provider: task.provider, mode: task.mode,
    usd: shown(task.budget.usd), tokens: shown(task.budget.tokens), minutes: shown(seconds && seconds / 60), after: task.dependencies.depends_on.map((id) => after.find((t) => t.id === id)?.key ?? id).join(", "),
    command: joined(e.command), script: e.script === undefined ? "" : JSON.stringify(e.script, null, 2), priority: task.priority, retries: String(task.max_retries),
    validate: task.validation_rounds > 0 ? "true" : "", continuous: said(e.continuous), wait: said(e.wait_for_messages), tests: e.test_command ?? "", setup: e.setup ?? "",
    credentials: (e.credentials ?? []).join(", "), allowed: joined(e.allowed_paths), forbidden: joined(e.forbidden_paths), commands: joined(e.forbidden_commands),
    constraints: joined(e.constraints),
  };
}
