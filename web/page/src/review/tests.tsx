import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import type { Schemas } from "@omoi/client";
import { said, type Event, type Task } from "../lib/api";
import { Clock, Text } from "../lib/text";
import { Output } from "../timeline/details";
import { Fields } from "../timeline/fields";
import { getChecks } from "./api";

/** One check of the work by omoi: a validation round, the checks of an iteration, or the repeat of the test command. Null: not comparable. */
interface Check { at: string; attempt: number; title: string; passed: boolean | null; by: string; command: string; text: string; output: string; more: string[]; event: number }

function roundOf(task: Task, v: Task["validation_reviews"][number]): Check {
  const evidence = new Fields((v.evidence ?? {}) as Record<string, unknown>);
  return {
    at: v.created_at, attempt: v.attempt, title: `Validation round ${v.round}${task.validation_rounds > 0 ? ` of ${Math.max(task.validation_rounds, v.round)}` : ""}`, passed: v.passed,
    by: v.sandbox_id === "" ? v.given_by : "validator", command: evidence.text("command"), text: v.feedback, output: evidence.text("output"), more: v.recommendations, event: 0,
  };
}

function iterationOf(task: Task, attempt: number, event: Event): Check {
  const f = Fields.of(event), [first = "", ...rest] = f.text("feedback").split("\n");
  return {
    at: event.created_at, attempt, title: `Checks of iteration ${f.number("iteration_num") ?? "?"}`, passed: f.is("passed"), by: "omoi",
    command: task.execution_config.test_command ?? "", text: first, output: rest.join("\n"), more: [], event: Number(event.id.split(":").at(-1)),
  };
}

function repeatOf(r: Schemas["TestRepeat"]): Check {
  return {
    at: r.ended_at, attempt: r.attempt, title: "Tests repeated in a sandbox of their own", passed: r.outcome === "not_comparable" ? null : r.outcome === "green",
    by: "omoi", command: r.command, text: r.message, output: "", more: [], event: 0,
  };
}

/** All checks that omoi knows of, newest first. */
export function useTests(task: Task): { checks: Check[]; error: unknown } {
  const attempts = task.continuous ? task.attempts.filter((a) => a.sandbox_id !== "") : [];
  const loaded = useQueries({
    queries: attempts.map((a) => ({ queryKey: ["checks", a.sandbox_id], queryFn: () => getChecks(a.sandbox_id), refetchInterval: a.ended_at === null ? 5000 : false as const })),
  });
  const iterations = loaded.flatMap((q, n) => (q.data ?? []).map((e) => iterationOf(task, attempts[n]!.number, e)));
  return {
    checks: [...task.validation_reviews.map((v) => roundOf(task, v)), ...iterations, ...task.attempts.flatMap((a) => a.test_repeat == null ? [] : [repeatOf(a.test_repeat)])].sort((a, b) => Date.parse(b.at) - Date.parse(a.at)),
    error: loaded.find((q) => q.error !== null)?.error ?? null,
  };
}

/** What is known while there is no result of a check by omoi. */
export function noResult(task: Task): string {
  const checked = task.continuous || Boolean(task.execution_config.test_command) || task.validation_rounds > 0;
  if (checked) {
    return task.completed_at === null ? "omoi has no test result yet." : "omoi has no test result of this task.";
  }
  return `omoi ${task.completed_at === null ? "runs" : "ran"} no test for this task: the task has no test command and no validation.`;
}

/** The checks of the work as omoi ran them, each with command, result and output. */
export function Tests({ task }: { task: Task }): ReactNode {
  const { checks, error } = useTests(task);
  return (
    <div className="tab-body">
      {error !== null && <p className="notice bad" role="alert"><Text of={said(error)} /></p>}
      {checks.length === 0 && <p className="muted">{noResult(task)} Tests that the agent ran are in the <Link to="/tasks/$id" params={{ id: task.key }}>timeline</Link>.</p>}
      {checks.map((c) => <One key={`${c.at} ${c.title}`} task={task} of={c} />)}
    </div>
  );
}

function One({ task, of }: { task: Task; of: Check }): ReactNode {
  return (
    <section className="panel check" data-passed={of.passed}>
      <h2>{of.passed === null ? <span className="muted">– Not comparable</span> : <span className={of.passed ? "s-done" : "s-fail"}>{of.passed ? "✓ Passed" : "✗ Failed"}</span>} {of.title} <span className="muted small">by <Text of={of.by} />, attempt {of.attempt}, <Clock at={of.at} /></span></h2>
      <div className="message">
        {of.command !== "" && <p><span className="muted">Command</span> <code><Text of={of.command} /></code></p>}
        {of.text !== "" && <p className="body"><Text of={of.text} /></p>}
        <Output of={of.output} label="Output" />
        {of.more.length > 0 && <ul>{of.more.map((m, n) => <li key={n}>– <Text of={m} /></li>)}</ul>}
        <Then task={task} of={of} />
      </div>
    </section>
  );
}

/** Where the check stands in the timeline, and what the agent did after it. */
function Then({ task, of }: { task: Task; of: Check }): ReactNode {
  const at = { to: "/tasks/$id", params: { id: task.key } } as const;
  if (of.event > 0) {
    const here = of.attempt === task.attempt_count ? undefined : of.attempt;
    return (
      <p className="spread small">
        <Link {...at} search={{ attempt: here }} hash={`e${of.attempt}:${of.event}`}>In the timeline</Link>
        <Link {...at} search={{ attempt: here }} hash={`e${of.attempt}:${of.event + 1}`}>What the agent did next</Link>
      </p>
    );
  }
  const next = task.attempts.find((a) => a.number > of.attempt);
  return (
    <p className="spread small">
      {of.attempt > 0 && <Link {...at} search={{ attempt: of.attempt }}>Attempt {of.attempt} in the timeline</Link>}
      {next !== undefined && <Link {...at} search={{ attempt: next.number }}>What the agent did next: attempt {next.number}</Link>}
    </p>
  );
}
