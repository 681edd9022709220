import type { Schemas } from "@omoi/client";

import type { Task } from "../lib/api";
import { now } from "../lib/clock";
import { count, duration, grouped, usd } from "../lib/format";
import type { TaskEvents } from "../stream/events";
import type { AttemptLog } from "../stream/store";
import { Fields } from "../timeline/fields";

export type Attempt = Schemas["Attempt"];

/** One side of a comparison. files: the number of changed files; undefined: this is loading, null: unknown. */
export interface Side { task: Task; attempt: Attempt; events: TaskEvents; log: AttemptLog; files: number | null | undefined }

export const loading = "…";

/** The figures of an attempt, by their words. */
export function figuresOf({ task, attempt, events, log, files }: Side): Record<string, string> {
  const counted = log.missing().length === 0, of = (type: string): string => (counted ? grouped(numberOf(log, type)) : loading);
  return {
    Agent: `${task.agent} in ${task.provider}`,
    "Why it started": attempt.kind.replaceAll("_", " "),
    End: attempt.outcome === "" ? "running" : `${attempt.outcome}${attempt.failure_class === "" ? "" : `: ${attempt.failure_class.replaceAll("_", " ")}`}`,
    Reason: attempt.reason,
    Duration: attempt.ended_at === null ? "running" : duration(lengthOf(attempt)),
    Cost: usd(attempt.cost_usd, attempt.cost_unknown),
    Tokens: `${count(attempt.input_tokens)} in, ${count(attempt.output_tokens)} out`,
    Iterations: of("iteration.started"),
    Tests: testsOf(events, log),
    "Number of changed files": files === undefined ? loading : files === null ? "unknown" : grouped(files),
    Messages: of("agent.message_injected"),
    "Tool calls": of("agent.tool_use"),
    Failures: counted ? grouped(log.failures.size) : loading,
    Events: grouped(attempt.events),
  };
}

export const lengthOf = (a: Attempt): number => Math.max(0, (a.ended_at === null ? now() : Date.parse(a.ended_at)) - Date.parse(a.started_at));

export function numberOf(log: AttemptLog, type: string): number {
  let sum = 0;
  for (let n = 1; n <= log.head; n++) {
    sum += Number(log.typeAt(n) === type);
  }
  return sum;
}

/** Whether omoi ran the checks of the task at the end of the agent, and what they said. */
function testsOf(events: TaskEvents, log: AttemptLog): string {
  for (let n = log.head; n > 0; n--) {
    if (log.typeAt(n) === "" || log.typeAt(n) === "agent.completed") {
      const event = log.body(n);
      if (event === undefined) {
        events.need(log, n);
        return loading;
      }
      const fields = Fields.of(event);
      if (event.event_type === "agent.completed") {
        return !fields.is("tests_run") ? "not run" : fields.is("tests_passed") ? "passed" : "failed";
      }
    }
  }
  return "not run";
}
