import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { useInfo } from "../banners";
import { getBudget, type Task } from "../lib/api";
import { useNow } from "../lib/clock";
import { age, count, duration, usd } from "../lib/format";
import { Limit } from "../lib/limit";
import { Pull } from "../lib/pull";
import { Out, Text } from "../lib/text";
import type { AttemptLog } from "../stream/store";
import { Fields } from "../timeline/fields";

/** The numbers of a task: signs of life, use against the budget, where its work is. */
export function Facts({ task, log }: { task: Task; log: AttemptLog }): ReactNode {
  const final = task.completed_at !== null;
  return (
    <div className="facts">
      {!final && <Life log={log} />}
      <Use task={task} />
      {task.branch_name !== null && <span className="aside">branch <code><Text of={task.branch_name} /></code></span>}
      <Pull task={task} />
      {final && task.status !== "completed" && <Link to="." search={{ tab: "receipts" }}>where its work is</Link>}
      <span className="aside">agent {task.agent}, sandbox {task.sandbox_id !== null && <><code title={task.sandbox_id}>…{task.sandbox_id.slice(-6)}</code> </>}({task.provider})</span>
      {task.continues !== "" && <span>continues <Link to="/tasks/$id" params={{ id: task.continues }}>{task.continues}</Link></span>}
      {task.continued_by !== "" && <span>continued by <Link to="/tasks/$id" params={{ id: task.continued_by }}>{task.continued_by}</Link></span>}
      {task.forked_from !== null && <span>fork of <Link to="/tasks/$id" params={{ id: task.forked_from.task_key }}>{task.forked_from.task_key}</Link> at {task.forked_from.checkpoint} <Link to="/compare" search={{ a: `${task.forked_from.task_key}:${task.forked_from.checkpoint.split(".")[0]}`, b: `${task.key}:1` }}>compare</Link></span>}
      <span className="aside"><Temporal task={task} /></span>
    </div>
  );
}

function Life({ log }: { log: AttemptLog }): ReactNode {
  const at = useNow(), beat = log.lastHeartbeat, work = log.lastWork;
  const tool = beat === undefined ? "" : Fields.of(beat).text("current_tool");
  return (
    <>
      {beat !== undefined && <span>heartbeat <b>{age(at - Date.parse(beat.created_at))}</b> ago{tool !== "" && <>, in <Text of={tool} /></>}</span>}
      {work !== undefined && <span>last work <b>{age(at - Date.parse(work.created_at))}</b> ago</span>}
    </>
  );
}

function Use({ task }: { task: Task }): ReactNode {
  const query = useQuery({ queryKey: ["budget", task.id], queryFn: () => getBudget(task.id), refetchInterval: task.completed_at === null ? 5000 : false });
  const at = useNow();
  if (query.data === undefined) {
    return null;
  }
  const { used, budget } = query.data;
  const spent = Math.max(0, (task.completed_at === null ? at : Date.parse(task.completed_at)) - Date.parse(task.created_at));
  return (
    <>
      <span><Limit used={used.usd} limit={budget.usd} shown={<b>{usd(used.usd, used.cost_unknown)}</b>} of={(n) => usd(n)} /></span>
      <span><Limit used={used.tokens} limit={budget.tokens} shown={<b>{count(used.tokens)} tokens</b>} of={count} /></span>
      <span><Limit used={spent / 1000} limit={budget.wall_clock_s} shown={<b>{duration(spent)}</b>} of={(n) => duration(n * 1000)} /></span>
    </>
  );
}

function Temporal({ task }: { task: Task }): ReactNode {
  const info = useInfo().data;
  if (info === undefined || info.temporal_ui_url === "") {
    return null;
  }
  const to = `${info.temporal_ui_url.replace(/\/+$/, "")}/namespaces/${encodeURIComponent(info.temporal_namespace)}/workflows/task-${task.id}`;
  return <Out to={to}>workflow in Temporal</Out>;
}
