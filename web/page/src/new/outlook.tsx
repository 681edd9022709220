import { Link } from "@tanstack/react-router";
import type { Schemas } from "@omoi/client";
import type { ReactNode } from "react";

import { said, type Project } from "../lib/api";
import { count, duration, grouped, many, usd } from "../lib/format";
import { inWords } from "../lib/isolation";
import { lookOf } from "../lib/status";
import { Text } from "../lib/text";
import { locations, type TaskRequest, type Values } from "./form";
import { useAhead, useIsolation, usePreview, useProjects } from "./queries";

type Preview = Schemas["TaskPreview"];

/** What the server says if it cannot choose the agent of a task that names none. */
export const agentError = (preview: Preview) => preview.errors.find((e) => e.location === locations.agent);

/** What will happen to the task of a form, as the server sees it now. */
export function Outlook({ values, request }: { values: Values; request: TaskRequest }): ReactNode {
  const { data: preview, error } = usePreview(request), project = useProjects()?.find((p) => p.id === values.project), isolation = useIsolation();
  const noAgent = preview && agentError(preview), others = preview?.errors.filter((e) => e !== noAgent) ?? [];
  return (
    <aside className="panel outlook" aria-label="What will happen">
      <h2>What will happen</h2>
      <div className="body">
        {error !== null && <p className="bad"><Text of={said(error)} /></p>}
        {preview === undefined ? <p className="muted">{error === null && "Loading…"}</p> : (
          <>
            <ul>{[...workOf(preview, request, project, isolation.get(preview.provider)), ...limitsOf(preview, request)].map((s) => <li key={s}><Text of={s} /></li>)}</ul>
            <Queue project={project} request={request} />
            {preview.missing.length > 0 && <div className="notice bad"><p className="strong">The agent cannot start yet</p>{preview.missing.map((m) => <p key={m}><Text of={m} /></p>)}</div>}
            {noAgent !== undefined && <div className="notice bad"><p className="strong">Choose an agent</p><p><Text of={noAgent.message} /></p></div>}
            {others.length > 0 && <div className="muted small"><p className="strong">Before the task can be created</p>{others.map((e) => <p key={e.location}><Text of={e.message} /></p>)}</div>}
            <Similar report={preview.duplicates} />
          </>
        )}
      </div>
    </aside>
  );
}

/** Where the agent works, and when its work ends. */
function workOf(preview: Preview, request: TaskRequest, project: Project | undefined, isolation: string[] | undefined): string[] {
  const repo = project?.repo ?? request.repo ?? "";
  const branch = project?.default_branch ? `branch ${project.default_branch}` : "the default branch";
  const place = preview.agent === "external" ? "Agent external connects by itself" : `Agent ${preview.agent} works in a sandbox of provider ${preview.provider}`;
  return [
    ...(preview.project_id === "" && repo !== "" ? [`A project for ${repo} is created.`] : []),
    ...(repo === "" ? [] : [`The work starts from ${branch} of ${repo}.`]),
    ...(preview.agent === "" ? [] : [`${place}${isolation === undefined ? "" : `, with ${inWords(isolation)}`}.`]),
    ...(preview.agent === "" || preview.agent === "scripted" ? [] : [preview.continuous ? "The agent repeats its work until the checks pass." : "The first completion of the agent ends the work."]),
  ];
}

/** What limits the task. */
function limitsOf(preview: Preview, { budget, dependencies }: TaskRequest): string[] {
  const limits = [
    ...(budget?.usd ? [usd(budget.usd)] : []), ...(budget?.tokens ? [`${count(budget.tokens)} tokens`] : []), ...(budget?.wall_clock_s ? [duration(budget.wall_clock_s * 1000)] : []),
  ];
  return [
    limits.length > 0 ? `All attempts together use at most ${limits.join(", ")}.` : "The task has no budget of its own.",
    preview.max_retries === 0 ? "A failed attempt is not followed by another one." : `A failed attempt is followed by another one, up to ${many(preview.max_retries, "time")}.`,
    ...(dependencies === undefined ? [] : [`The task starts after ${dependencies.depends_on.join(", ")}.`]),
  ];
}

/** What is ahead of the task, and what holds it back. */
function Queue({ project, request }: { project: Project | undefined; request: TaskRequest }): ReactNode {
  const { capacity, slots, budget } = useAhead(project?.id ?? ""), limits = budget?.budget, used = budget?.used;
  return (
    <ul>
      {slots !== undefined && <li>The project uses {grouped(slots.running_tasks)} of {many(slots.concurrency_limit, "slot")}; {many(slots.queued_tasks, "task")} in its queue.</li>}
      {capacity !== undefined && capacity.concurrency_limit !== null && <li>The organization uses {capacity.running_tasks} of {capacity.concurrency_limit} slots.</li>}
      {limits?.usd ? <li>The project has used {usd(used!.usd, used!.cost_unknown)} of its {usd(limits.usd)}.</li> : null}
      {limits?.tokens ? <li>The project has used {count(used!.tokens)} of its {count(limits.tokens)} tokens.</li> : null}
      {project?.paused && <li className="s-needs">The project is paused: the task waits until a user resumes the project.</li>}
      {capacity?.paused && <li className="s-needs">The server admits no task: the task waits.</li>}
      {request.deadline_at !== undefined && <li>The deadline raises the task in the queue.</li>}
    </ul>
  );
}

function Similar({ report }: { report: Schemas["DuplicateReport"] }): ReactNode {
  if (report.candidates.length === 0) {
    return null;
  }
  return (
    <section className="notice" aria-label="Similar open tasks" aria-live="polite">
      <p className="strong">Open tasks with an equal or nearly equal text</p>
      <ul>
        {report.candidates.map((c) => (
          <li key={c.task_id}>
            <Link to="/tasks/$id" params={{ id: c.task_id }}><Text of={c.title} /></Link> <span className="muted small">{lookOf(c.status).word}, similarity {c.similarity_score.toFixed(2)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
