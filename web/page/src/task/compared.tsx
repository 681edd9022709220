import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { getComparison, type ComparedTask, type Task } from "../lib/api";
import { duration, many, usd } from "../lib/format";
import { Status, wordOf } from "../lib/status";
import { Text } from "../lib/text";

/** The tasks that do the same work, with their figures, and which of them to take. */
export function Compared({ task }: { task: Task }): ReactNode {
  const found = useQuery({
    queryKey: ["comparison", task.ticket_id], queryFn: () => getComparison(task.ticket_id),
    refetchInterval: (query) => (query.state.data?.ended === false ? 5000 : false),
  }).data;
  if (found === undefined) {
    return null;
  }
  const best = found.recommendation.task_id;
  return (
    <details className="fold-box compared">
      <summary>Compared with {many(found.candidates.length - 1, "other task")}. Recommendation: <Text of={found.recommendation.message} /></summary>
      <div className="scroll-x">
        <table>
          <thead><tr>{["Agent", "Task", "Status", "Tests", "Change", "Cost", "Time"].map((head) => <th scope="col" key={head}>{head}</th>)}</tr></thead>
          <tbody>{found.candidates.map((c) => <Row key={c.task_id} of={c} shown={c.task_id === task.id} best={c.task_id === best} />)}</tbody>
        </table>
      </div>
    </details>
  );
}

function Row({ of, shown, best }: { of: ComparedTask; shown: boolean; best: boolean }): ReactNode {
  return (
    <tr data-best={best}>
      <th scope="row"><Text of={of.name} /></th>
      <td>{shown ? of.task_key : <Link to="/tasks/$id" params={{ id: of.task_key }}>{of.task_key}</Link>}{best && <b> recommended</b>}</td>
      <td><Status word={wordOf(of)} /></td>
      <td title={of.test_repeat?.message}>{of.test_repeat === null ? "no result" : of.test_repeat.outcome.replaceAll("_", " ")}</td>
      <td>{sizeOf(of)}</td>
      <td>{usd(of.cost_usd, of.cost_unknown)}</td>
      <td>{duration(of.wall_clock_seconds * 1000)}</td>
    </tr>
  );
}

function sizeOf({ changed_lines: lines, changed_files: files }: ComparedTask): string {
  return lines === null || files === null ? "unknown" : `${many(lines, "line")} in ${many(files, "file")}`;
}
