import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { getCheckpoints, type Task } from "../lib/api";
import { clock, grouped } from "../lib/format";
import { fromServer } from "./search";
import type { Schemas } from "@omoi/client";

type Checkpoint = Schemas["Checkpoint"];

/** Two selectors: what is compared with what. */
export function Compare({ task }: { task: Task }): ReactNode {
  const search = useSearch({ from: "/tasks/$id/changes" }), navigate = useNavigate();
  const list = useQuery({ queryKey: ["checkpoints", task.id], queryFn: () => getCheckpoints(task.id), refetchInterval: task.completed_at === null ? 5000 : false });
  const checkpoints = [...(list.data?.items ?? [])].sort((a, b) => b.attempt - a.attempt || b.number - a.number);
  const pick = (name: "from" | "to", first: string) => (value: string): void => void navigate({ to: ".", search: { ...search, [name]: value === first ? undefined : value } });
  return (
    <div className="compare">
      <Points label="From" task={task} checkpoints={checkpoints} first={["base", "Start of the task"]} value={search.from ?? "base"} pick={pick("from", "base")} />
      <span aria-hidden="true">→</span>
      <Points label="To" task={task} checkpoints={checkpoints} first={["latest", "Newest files"]} value={search.to ?? "latest"} pick={pick("to", "latest")} />
    </div>
  );
}

interface PointsProps { label: string; task: Task; checkpoints: Checkpoint[]; first: [string, string]; value: string; pick: (value: string) => void }

function Points({ label, task, checkpoints, first, value, pick }: PointsProps): ReactNode {
  const attempts = [...new Set(checkpoints.map((c) => c.attempt))];
  const known = value === first[0] || task.attempts.some((a) => `attempt-${a.number}` === value) || checkpoints.some((c) => fromServer(c.id) === value);
  return (
    <select aria-label={label} value={value} onChange={(e) => pick(e.target.value)}>
      <option value={first[0]}>{first[1]}</option>
      {!known && <option value={value}>{value.replace("-", " ")}</option>}
      <optgroup label="Results of attempts">
        {task.attempts.toReversed().map((a) => <option key={a.number} value={`attempt-${a.number}`}>{`Attempt ${a.number}${a.outcome === "" ? ", running" : `, ${a.outcome}`}`}</option>)}
      </optgroup>
      {attempts.map((n) => (
        <optgroup key={n} label={`Checkpoints of attempt ${n}`}>
          {checkpoints.filter((c) => c.attempt === n).map((c) => <option key={c.id} value={fromServer(c.id)}>{`${c.id}, ${clock(c.taken_at)}${c.sequence > 0 ? `, event ${grouped(c.sequence)}` : ""}`}</option>)}
        </optgroup>
      ))}
    </select>
  );
}
