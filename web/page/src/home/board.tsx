import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { grouped } from "../lib/format";
import { useOld } from "../lib/reach";
import { lookOf, Status, wordOf } from "../lib/status";
import { Text } from "../lib/text";
import type { TaskChanges } from "./changes";
import type { Counts } from "./home";
import { useTasks } from "./queries";
import { groups, type HomeSearch } from "./search";

const most = 30;

/** The tasks by group, side by side. */
export function Board({ search, counts, changes }: { search: HomeSearch; counts: Counts; changes: TaskChanges }): ReactNode {
  return (
    <div className="board" tabIndex={0} role="group" aria-label="Board">
      {groups.filter((g) => search.group === undefined || g.id === search.group).map((g) => <Column key={g.id} group={g} search={search} count={counts?.[g.id]} changes={changes} />)}
    </div>
  );
}

function Column({ group, search, count, changes }: { group: (typeof groups)[number]; search: HomeSearch; count: number | undefined; changes: TaskChanges }): ReactNode {
  const old = useOld();
  const tasks = useTasks({ ...search, group: undefined }, [group], changes, most).items;
  return (
    <section className={`panel ${count === 0 && tasks.length === 0 ? "none" : ""}`} aria-label={group.word}>
      <h2><span className={`s-${lookOf(group.look).tone}`}>{group.word}</span> {count !== undefined && <span className="muted">{grouped(count)}</span>}</h2>
      {tasks.slice(0, most).map((task) => (
        <Link key={task.id} to="/tasks/$id" params={{ id: task.key }} className="card">
          <div className="small"><Status word={old !== undefined && task.completed_at === null ? "unknown" : wordOf(task)} /></div>
          <div className="strong title"><span className="key">{task.key}</span><Text of={task.title} /></div>
          <div className="muted small one-line"><Text of={task.why} /></div>
        </Link>
      ))}
      {(count ?? 0) > most && <Link className="card" to="/tasks" search={{ ...search, as: undefined, group: group.id }}>All {grouped(count!)}</Link>}
    </section>
  );
}
