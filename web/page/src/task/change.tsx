import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import type { Task } from "../lib/api";
import { grouped } from "../lib/format";
import { Text } from "../lib/text";

/** Reasons to wait that a setting of the project removes: what is said before and after the name of the setting. */
const settings: Record<string, (limit: number | undefined) => [before: string, setting: string, after: string]> = {
  project_limit: (limit) => ["The task starts when running tasks of this project end, or when you raise the", "Concurrency limit", limit === undefined ? "" : ` (now ${grouped(limit)})`],
  autonomous_execution_off: () => ["The task starts when you allow", "Start tasks that omoi created", ""],
  project_budget: () => ["The task starts when you raise the", "Budget of the project", ""],
};

/** What ends the wait of a task: the setting of its project, if the page has it, or else the command that the server suggests. */
export function Change({ task, next }: { task: Task; next: string }): ReactNode {
  const { code, limit } = task.queue_reason, project = task.key.slice(0, task.key.lastIndexOf("-"));
  const other = /^omoi (?:why|retry) (\S+)$/.exec(next)?.[1];
  if (other !== undefined && other !== task.id) {
    return <>Open <Link to="/tasks/$id" params={{ id: other }}>{other}</Link>, for which it waits.</>;
  }
  if (settings[code] === undefined || task.waiting_for.code !== "") {
    return <>Suggested command: <code className="span"><Text of={next} /></code></>;
  }
  const [before, setting, after] = settings[code](limit);
  return <>{before} <Link to="/settings" search={{ tab: "projects", project }}>{setting}</Link>{after}.</>;
}
