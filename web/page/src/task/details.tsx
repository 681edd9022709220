import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { useInfo } from "../banners";
import type { Task } from "../lib/api";
import type { Schemas } from "@omoi/client";
import { duration, usd, count } from "../lib/format";
import { useTasksById } from "../lib/tasks";
import { Clock, Text } from "../lib/text";
import { TaskContract } from "./contract";

/** What was asked, what explains the state, and where to look further. */
export function Details({ task, why }: { task: Task; why: Schemas["Explanation"] | undefined }): ReactNode {
  const info = useInfo().data;
  return (
    <>
      {why !== undefined && why.evidence.length > 0 && (
        <section className="panel">
          <h2>Evidence for the state</h2>
          {why.evidence.map((e) => (
            <p key={`${e.attempt}:${e.event}`} className="message small">
              <Link to="." hash={`e${e.attempt}:${e.event}`} search={{}}>event {e.event} of attempt {e.attempt}</Link> <Clock at={e.created_at} /> <code>{e.event_type}</code> <span className={e.failure ? "bad" : ""}><Text of={e.message} /></span>
            </p>
          ))}
        </section>
      )}
      {why?.diagnosis != null && <section className="panel"><h2>Diagnosis</h2><p className="message"><Text of={why.diagnosis.proposal} /></p></section>}
      <section className="panel"><h2>Description</h2><p className="message description"><Text of={task.description} /></p></section>
      <TaskContract task={task} />
      <section className="panel scroll-x">
        <h2>Attempts</h2>
        <table>
          <thead><tr><th>Attempt</th><th>Why it started</th><th>Outcome</th><th>Duration</th><th>Tokens</th><th>Cost</th><th>Events</th></tr></thead>
          <tbody>
            {task.attempts.length === 0 && <tr><td colSpan={7} className="muted">No attempt has started.</td></tr>}
            {task.attempts.map((a) => (
              <tr key={a.number}>
                <td><Link to="." search={{ attempt: a.number }}>{a.number}</Link></td>
                <td>{a.kind}{a.restored_from !== "" && ` from ${a.restored_from}`}{a.credential_takeover != null && ` with ${a.credential_takeover.kind} credential ${a.credential_takeover.number}`}</td>
                <td>{a.outcome === "" ? "running" : a.outcome}{a.reason !== "" && <div className="muted small"><Text of={a.reason} /></div>}{a.test_repeat != null && <div className="muted small">Tests, repeated by omoi: <Text of={a.test_repeat.message} /></div>}</td>
                <td>{a.ended_at === null ? "" : duration(Date.parse(a.ended_at) - Date.parse(a.started_at))}</td>
                <td>{count(a.input_tokens + a.output_tokens)}</td><td>{usd(a.cost_usd, a.cost_unknown)}</td><td>{a.events}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <section className="panel">
        <h2>Task</h2>
        <dl className="defs">
          <dt>ID</dt><dd><code>{task.id}</code></dd>
          <dt>Created</dt><dd><Clock at={task.created_at} whole /></dd>
          <dt>Repository</dt><dd>{task.repo === "" ? "none" : <code><Text of={task.repo} /></code>}</dd>
          <dt>Branch</dt><dd>{task.branch_name === null ? "none" : <code><Text of={task.branch_name} /></code>}</dd>
          {task.earlier_branches.length > 0 && <><dt>Earlier branches</dt><dd><Text of={task.earlier_branches.join(", ")} /></dd></>}
          <dt>Priority</dt><dd>{task.priority.toLowerCase()}</dd>
          <dt>Mode</dt><dd>{task.mode}{task.continuous && ", repeats its work until the checks pass"}</dd>
          <dt>Retries</dt><dd>{task.retry_count} of {task.max_retries} automatic</dd>
          {task.dependencies.depends_on.length > 0 && <><dt>Starts after</dt><dd><After ids={task.dependencies.depends_on} /></dd></>}
          <dt>Suggested command</dt><dd><code>{why?.next ?? `omoi show ${task.key}`}</code></dd>
          <dt>Workflow</dt><dd><code>temporal{info !== undefined && ` -n ${info.temporal_namespace}`} workflow show -w task-{task.id}</code></dd>
        </dl>
      </section>
    </>
  );
}

/** The tasks that must be completed first, by key and title. */
function After({ ids }: { ids: string[] }): ReactNode {
  const found = useTasksById(ids).tasks;
  return ids.map((id) => {
    const task = found?.find((t) => t.id === id);
    return <div key={id}><Link to="/tasks/$id" params={{ id: task?.key ?? id }}>{task === undefined ? id : <>{task.key} <Text of={task.title} /></>}</Link></div>;
  });
}
