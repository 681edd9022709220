import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { api, getProjectBudget, said, unwrap, type Project } from "../lib/api";
import { Area, Form, Input, Select, type Options } from "../lib/fields";
import { count, duration, usd } from "../lib/format";
import { Text } from "../lib/text";
import { changesOf, locations, valuesOf, type ProjectValues } from "./project-form";

const yesNo: Options = [["true", "Yes"], ["false", "No"]];
const unset = (word: string): Options => [["", word], ...yesNo];
const feedback: Options = [["off", "Nothing"], ["message", "Inform the running agent"], ["revise", "Inform the running agent, or create a task"]];

/** Creates a project, or changes one. */
export function ProjectForm({ project, back }: { project?: Project; back: () => void }): ReactNode {
  const client = useQueryClient(), [was] = useState(project), [values, setValues] = useState(() => valuesOf(was));
  const field = (name: keyof ProjectValues) => ({ at: locations[name], value: values[name], change: (to: string) => setValues({ ...values, [name]: to }) });
  const send = () => {
    const body = changesOf(values, was, project) as never;
    return unwrap(project === undefined ? api.POST("/api/v1/projects", { body }) : api.PATCH("/api/v1/projects/{id}", { params: { path: { id: project.id } }, body }));
  };
  const done = (): void => {
    void client.invalidateQueries();
    back();
  };
  return (
    <>
      <section className="panel box-form">
        <h2>{project === undefined ? "New project" : <>Project {project.key}</>}</h2>
        <Form label="Project" yes={project === undefined ? "Create the project" : "Save"} send={send} done={done} cancel={back}>
          {project === undefined ? <Input label="Repository" hint="owner/name or the address on GitHub, or the absolute path of a local one. Empty: none. It stays." spellCheck={false} {...field("repo")} />
            : <p className="muted small">Repository: {project.repo === "" ? "none" : <code><Text of={project.repo} /></code>}. It stays: create another project for another repository.</p>}
          <Input label="Name" hint={project === undefined ? "Empty: from the repository." : undefined} {...field("name")} />
          {project === undefined && <Input label="Key" hint="2 to 10 letters and digits, a letter first. It begins the keys of tasks, and stays. Empty: from the name." {...field("key")} />}
          <Area label="Description" rows={2} {...field("description")} />
          <Input label="Default branch" hint="Work starts from it, and pull requests target it. Empty: as the repository says." spellCheck={false} {...field("default_branch")} />
          <Input label="Concurrency limit" type="number" min={0} max={10000} hint={`Tasks that may hold a slot at once. 0: no task starts.${project === undefined ? " Empty: the server default." : ""}`} {...field("max_concurrent_tasks")} />
          <Area label="Setup command" mono rows={2} hint="Runs in each sandbox before the agent." {...field("setup")} />
          <Input label="Time limit of the setup, in seconds" type="number" min={0} hint="If it is 0 or empty, the limit is 900 seconds." {...field("setup_timeout_seconds")} />
          <Select label="After reviews and failed checks of pull requests" options={project === undefined ? [["", "Nothing"], ...feedback.slice(1)] : feedback} {...field("on_feedback")} />
          <Select label="Validate the work of tasks" options={unset("No, unless a task says so")} {...field("validate")} />
          <details className="fold-box">
            <summary>More settings</summary>
            <div className="fields">
              <Select label="Start tasks that omoi created" options={project === undefined ? unset("Server default: yes") : yesNo} {...field("autonomous_execution_enabled")} />
              {project !== undefined && <Select label="Agents may send messages to each other" options={yesNo} {...field("allow_agent_messages")} />}
              {project !== undefined && <Select label="The guardian may message, interrupt and replace agents" options={unset("Server default")} {...field("auto_steering")} />}
              <Select label="Commit what a successful agent leaves uncommitted" options={unset("Server default: yes")} {...field("commit_leftovers")} />
              <Input label="Prices of models" hint="model=input/output in USD per million tokens, separated by commas." spellCheck={false} {...field("model_prices")} />
              <Area label="Paths that agents may change" mono rows={2} hint="One pattern a line. Empty: all." {...field("allowed_paths")} />
              <Area label="Paths that agents must not change" mono rows={2} hint="One pattern a line." {...field("forbidden_paths")} />
              <Area label="Commands that agents must not run" mono rows={2} hint="One beginning of a command a line." {...field("forbidden_commands")} />
              <Area label="Constraints" rows={2} hint="One sentence a line." {...field("constraints")} />
            </div>
          </details>
        </Form>
      </section>
      {project !== undefined && <Budget project={project} />}
    </>
  );
}

const budgetFields = { usd: "body.usd", tokens: "body.tokens", minutes: "body.wall_clock_s", sandbox: "body.sandbox_s" };

/** The budget that the tasks of a project share. */
function Budget({ project }: { project: Project }): ReactNode {
  const params = { path: { id: project.id } }, client = useQueryClient(), key = ["project-budget", project.id];
  const query = useQuery({ queryKey: key, queryFn: () => getProjectBudget(project.id) }), of = query.data;
  const [changed, setChanged] = useState<Partial<Record<keyof typeof budgetFields, string>>>({});
  if (of === undefined) {
    return query.error === null ? null : <p className="notice bad" role="alert"><Text of={said(query.error)} /></p>;
  }
  const shown = (n: number | undefined): string => (n ? String(n) : ""), { budget, used } = of;
  const values = { usd: shown(budget.usd), tokens: shown(budget.tokens), minutes: shown(budget.wall_clock_s && budget.wall_clock_s / 60), sandbox: shown(budget.sandbox_s && budget.sandbox_s / 60), ...changed };
  const field = (name: keyof typeof budgetFields) => ({ at: budgetFields[name], type: "number" as const, min: 0, placeholder: "no limit", value: values[name], change: (to: string) => setChanged({ ...changed, [name]: to }) });
  const seconds = (minutes: string): number => Math.round(Number(minutes) * 60);
  const send = () => unwrap(api.PUT("/api/v1/projects/{id}/budget", { params, body: { usd: Number(values.usd), tokens: Number(values.tokens), wall_clock_s: seconds(values.minutes), sandbox_s: seconds(values.sandbox) } }));
  return (
    <section className="panel box-form">
      <h2>Budget of the project</h2>
      <Form label="Budget of the project" yes="Save the budget" send={send} done={(to) => { setChanged({}); client.setQueryData(key, to); }}>
        <p className="muted small">Used: {usd(used.usd, used.cost_unknown)}, {count(used.tokens)} tokens, {duration(used.sandbox_s * 1000)} in sandboxes.</p>
        <div className="row-of"><Input label="USD" step="any" {...field("usd")} /><Input label="Tokens" {...field("tokens")} /></div>
        <div className="row-of"><Input label="Minutes since the creation" step="any" {...field("minutes")} /><Input label="Minutes in sandboxes" step="any" {...field("sandbox")} /></div>
        {of.task_ids.length > 0 && <p role="status">Tasks that continue now: {of.task_ids.length}.</p>}
      </Form>
    </section>
  );
}
