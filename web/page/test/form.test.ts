import { expect, test } from "vitest";

import { place } from "../src/lib/faults";
import type { Project, Task } from "../src/lib/api";
import { empty, locations, requestOf, valuesOf } from "../src/new/form";
import { changesOf, valuesOf as projectValues } from "../src/settings/project-form";

test("a form sends only what a user filled in", () => {
  expect(requestOf(empty)).toEqual({});
  expect(requestOf({ ...empty, description: "Write a file.", project: "p" })).toEqual({ description: "Write a file.", project_id: "p" });
  expect(requestOf({ ...empty, title: "x", repo: "/srv/git/app", project: "" })).toEqual({ title: "x", repo: "/srv/git/app" });
});

test("each field reaches its place in the request", () => {
  const all = {
    ...empty, description: "d", title: "t", project: "p", agent: "command", provider: "docker", mode: "exploration", usd: "2.5", tokens: "1000", minutes: "1.5",
    after: "APP-1, APP-2", command: "go\ntest\n./...\n", script: "{", priority: "HIGH", deadline: "2030-01-31T18:00", retries: "0", validate: "false", continuous: "true", wait: "true",
    tests: "make test", setup: "make deps", credentials: "model github", allowed: "docs/**", forbidden: "a\nb", commands: "rm ", constraints: "Be brief.",
  };
  const request = requestOf(all);
  expect(request).toEqual({
    description: "d", title: "t", project_id: "p", agent: "command", provider: "docker", mode: "exploration", budget: { usd: 2.5, tokens: 1000, wall_clock_s: 90 },
    dependencies: { depends_on: ["APP-1", "APP-2"] }, priority: "HIGH", deadline_at: new Date("2030-01-31T18:00").toISOString(), max_retries: 0, validate: false,
    execution_config: {
      command: ["go", "test", "./..."], continuous: true, wait_for_messages: true, test_command: "make test", setup: "make deps", credentials: ["model", "github"],
      allowed_paths: ["docs/**"], forbidden_paths: ["a", "b"], forbidden_commands: ["rm "], constraints: ["Be brief."],
    },
  });
  for (const [field, location] of Object.entries(locations).filter(([f]) => !["repo", "script"].includes(f))) {
    expect(location.split(".").slice(1).reduce<unknown>((at, part) => (at as Record<string, unknown>)?.[part], request), field).not.toBe(undefined);
  }
  expect(requestOf({ ...all, agent: "scripted", script: '{"steps":[]}' }).execution_config).toMatchObject({ script: { steps: [] } });
  expect(requestOf({ ...all, agent: "scripted" }).execution_config?.script, "the server says what is wrong").toBe("{");
});

test("a form like a task sends the settings of the task again", () => {
  const task = {
    title: "t", description: "d", project_id: "p", agent: "scripted", provider: "local", mode: "implementation", priority: "LOW", max_retries: 2, validation_rounds: 0,
    budget: { usd: 1, wall_clock_s: 90 }, dependencies: { depends_on: ["x", "y"] }, execution_config: { script: { steps: [{ say: "hi" }] }, continuous: false, env: { A: "***" } },
  } as unknown as Task;
  expect(requestOf(valuesOf(task, [{ id: "x", key: "APP-12" } as Task]))).toEqual({
    title: "t", description: "d", project_id: "p", agent: "scripted", provider: "local", mode: "implementation", priority: "LOW", max_retries: 2,
    budget: { usd: 1, wall_clock_s: 90 }, dependencies: { depends_on: ["APP-12", "y"] }, execution_config: { script: { steps: [{ say: "hi" }] }, continuous: false },
  });
});

test("an error is shown at the field that holds its location", () => {
  const fields = ["body.repo", "body.budget", "body.budget.usd", "body.execution_config.script"];
  expect(place([
    { location: "body.budget.usd", message: "a" }, { location: "body.budget.tokens", message: "b" }, { location: "body.execution_config.script.steps[0]", message: "c" },
    { location: "body.repository", message: "d" }, { location: "body.repo", message: "e" }, { location: "body.repo", message: "f" },
  ], fields)).toEqual({ at: { "body.budget.usd": "a", "body.budget": "b", "body.execution_config.script": "c", "body.repo": "e" }, rest: ["d"] });
});

test("the form of a project sends what changed, and keeps settings that omoi does not read", () => {
  const project = { name: "a", max_concurrent_tasks: 5, auto_steering: null, setup_timeout_seconds: 0, settings: { mine: 1, validate: true, allowed_paths: ["x"] } } as unknown as Project;
  const values = projectValues(project);
  expect(changesOf(values, project)).toEqual({});
  expect(changesOf({ ...values, max_concurrent_tasks: "0", auto_steering: "false", setup_timeout_seconds: "60" }, project)).toEqual({ max_concurrent_tasks: 0, auto_steering: false, setup_timeout_seconds: 60 });
  expect(changesOf({ ...values, validate: "", allowed_paths: "x\ny\n" }, project)).toEqual({ settings: { mine: 1, validate: undefined, allowed_paths: ["x", "y"] } });
  const now = { ...project, name: "b", settings: { mine: 2, validate: false, allowed_paths: ["z"] } }; // another user saved it meanwhile
  expect(changesOf(values, project, now)).toEqual({});
  expect(changesOf({ ...values, allowed_paths: "x\ny" }, project, now)).toEqual({ settings: { mine: 2, validate: false, allowed_paths: ["x", "y"] } });
  expect(changesOf({ ...projectValues(), name: "b", repo: "/srv/git/b" })).toEqual({ name: "b", repo: "/srv/git/b" });
});
