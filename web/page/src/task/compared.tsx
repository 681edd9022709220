import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { getComparison, type Task } from "../lib/api";
import { Text } from "../lib/text";

/** The other tasks that do the same work, and which of them to take. */
export function Compared({ task }: { task: Task }): ReactNode {
  const found = useQuery({
    queryKey: ["comparison", task.ticket_id], queryFn: () => getComparison(task.ticket_id),
    refetchInterval: (query) => (query.state.data?.ended === false ? 5000 : false),
  }).data;
  if (found === undefined) {
    return null;
  }
  const others = found.candidates.filter((c) => c.task_id !== task.id);
  return (
    <span>
      compared with {others.map((c, at) => <span key={c.task_id}>{at > 0 && ", "}<Link to="/tasks/$id" params={{ id: c.task_key }}>{c.task_key}</Link> (<Text of={c.name} />)</span>)}
      {" "}<span className="aside">recommendation: <Text of={found.recommendation.message} /></span>
    </span>
  );
}
