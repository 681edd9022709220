import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { getWhy, type Task } from "../lib/api";
import { Status, wordOf } from "../lib/status";
import { Text } from "../lib/text";
import { Change } from "../task/change";
import { Ago, Answer, Panel, Table, TaskLink } from "./parts";
import { useCapacity, useWaiting } from "./queries";

/** The tasks that wait, with position, reason, and what would change that. */
export function Queue(): ReactNode {
  const paused = useCapacity().data?.paused;
  return (
    <>
      {paused && <p className="notice bad">No task starts: the server runs with ORCHESTRATOR_ENABLED=false.</p>}
      <Panel title="Waiting tasks">
        <Answer of={useWaiting()}>{(tasks) => (
          <Table label="Waiting tasks" items={[...tasks].sort(byPosition)} id={(t) => t.id} empty="No task waits." columns={[
            { head: "State", cell: (t) => <Status word={wordOf(t)} /> },
            { head: "Position", cell: (t) => t.queue_position ?? "–", right: true },
            { head: "Task", cell: (t) => <TaskLink id={t.key}><span className="muted">{t.key}</span> <Text of={t.title} /></TaskLink> },
            { head: "Why", cell: (t) => <><Text of={t.why} /><Wait of={t} /></> },
            { head: "Queued", cell: (t) => (t.queued_at === null ? "–" : <Ago at={t.queued_at} />) },
            { head: "Priority", cell: (t) => <span className="small muted">{t.priority.toLowerCase()}, score {t.score.toFixed(2)}</span> },
          ]} />
        )}</Answer>
      </Panel>
    </>
  );
}

// Position is the place in the queue of a project.
const byPosition = (a: Task, b: Task): number => (a.queue_position ?? 1e9) - (b.queue_position ?? 1e9);

/** What the server says would change the wait, once a reader asks. */
function Wait({ of }: { of: Task }): ReactNode {
  const [open, setOpen] = useState(false);
  const why = useQuery({ queryKey: ["why", of.id], enabled: open, queryFn: () => getWhy(of.id) });
  return (
    <details className="small" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>What would change this</summary>
      {open && <Answer of={why}>{(e) => <p><Change task={of} next={e.next} /></p>}</Answer>}
    </details>
  );
}
