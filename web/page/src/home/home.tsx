import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";

import { api, getProjects, said, unwrap, type Task } from "../lib/api";
import { grouped, many } from "../lib/format";
import { newKey } from "../lib/key";
import { exactly } from "../lib/links";
import { mayLoadNext } from "../lib/pages";
import { useMay } from "../lib/session";
import { marked, Text } from "../lib/text";
import { Board } from "./board";
import { useTaskChanges, type TaskChanges } from "./changes";
import { Rows, type Line } from "./rows";
import { useCounts, useTasks } from "./queries";
import { endedGroups, groups, openGroups, type GroupID, type HomeSearch } from "./search";

export type Counts = ReturnType<typeof useCounts>;

/** The list of tasks: what needs a user first, then what runs, waits and has ended. */
export function Home(): ReactNode {
  const search = useSearch({ from: "/tasks" });
  const changes = useTaskChanges(search.project), counts = useCounts(search, changes);
  useEffect(() => {
    document.title = counts !== undefined && counts.needs_you > 0 ? `(${counts.needs_you}) Tasks · omoi` : "Tasks · omoi";
  }, [counts]);
  return (
    <>
      <div className="spread list-head">
        <h1>Tasks</h1>
        <Search />
        <Switch as={search.as} />
      </div>
      <Filters counts={counts} />
      {counts?.total === 0 ? <Empty search={search} /> : search.as === "board" ? <Board search={search} counts={counts} changes={changes} /> : <ListOf search={search} counts={counts} changes={changes} />}
    </>
  );
}

function ListOf({ search, counts, changes }: { search: HomeSearch; counts: Counts; changes: TaskChanges }): ReactNode {
  const live = useTasks(search, openGroups, changes), past = useTasks(search, endedGroups, changes);
  const used = [live, past].filter((q) => q.used), failed = used.find((q) => q.error !== null && q.data === undefined)?.error;
  if (failed != null) {
    return <p className="notice bad" role="alert"><Text of={said(failed)} /></p>;
  }
  if (used.some((q) => q.data === undefined)) {
    return <p className="muted empty">Loading…</p>;
  }
  if (live.items.length + past.items.length === 0) {
    return <Empty search={search} />;
  }
  const more = live.hasNextPage ? live : past;
  return (
    <>
      <Sorted tasks={together(live.items, past.items)} counts={counts} group={search.group} more={mayLoadNext(more) ? () => void more.fetchNextPage() : undefined} />
      {more.isFetchNextPageError && <p className="notice bad" role="alert"><Text of={said(more.error)} /></p>}
    </>
  );
}

/** Lists that were read one after the other, without what an older one says of a task that moved between them. */
export function together(...lists: Task[][]): Task[] {
  const newest = new Map<string, Task>(), all = lists.flat();
  for (const task of all) {
    const other = newest.get(task.id);
    if (other === undefined || Date.parse(other.updated_at) < Date.parse(task.updated_at)) {
      newest.set(task.id, task);
    }
  }
  return all.filter((task) => newest.get(task.id) === task);
}

/** Orders tasks, and keeps the order while a reader points at the list or moves in it. */
function Sorted({ tasks, counts, group, more }: { tasks: Task[]; counts: Counts; group?: GroupID; more?: () => void }): ReactNode {
  const wanted = useMemo(() => linesOf(tasks, counts, group), [tasks, counts, group]);
  const held = useRef<string[]>([]), box = useRef<HTMLDivElement>(null);
  const [busy, setBusy] = useState(false);
  const shape = wanted.map((l) => l.id);
  const moved = busy ? shape.filter((id, n) => held.current[n] !== id).length : 0;
  if (!busy) {
    held.current = shape;
  }
  const byId = new Map(wanted.map((l) => [l.id, l]));
  const lines = busy ? held.current.map((id) => byId.get(id)).filter((l) => l !== undefined) : wanted;
  const settle = (): void => setBusy(box.current?.matches(":hover, :focus-within") ?? false);
  return (
    <div ref={box} onPointerEnter={(e) => e.pointerType === "mouse" && setBusy(true)} onPointerLeave={settle} onFocus={() => setBusy(true)} onBlur={() => requestAnimationFrame(settle)}>
      {moved > 0 && <p className="notice small"><button className="text" onClick={() => setBusy(false)}>{many(moved, "row")} changed place · show</button></p>}
      <Rows lines={lines} more={more} />
    </div>
  );
}

/** Puts a head with the number of the server before each group. shown: the only group that the reader sees. */
export function linesOf(tasks: Task[], counts: Counts, shown?: GroupID): Line[] {
  const lines: Line[] = [], ended = endedGroups.filter((g) => shown === undefined || shown === g.id);
  let last = "";
  for (const task of tasks) {
    const group = openGroups.find((g) => g.id === task.group), word = group?.word ?? "Ended";
    if (word !== last) {
      lines.push({ id: `group ${word}`, word, count: counts && (group === undefined ? ended : [group]).reduce((sum, g) => sum + counts[g.id], 0) });
      last = word;
    }
    lines.push({ id: task.id, task });
  }
  return lines;
}

function Filters({ counts }: { counts: Counts }): ReactNode {
  const search = useSearch({ from: "/tasks" });
  const projects = useQuery({ queryKey: ["projects"], queryFn: getProjects, staleTime: 30_000 });
  const navigate = useNavigate();
  const list = projects.data?.items ?? [];
  return (
    <nav className="chips list-head" aria-label="Filter">
      <Link className="chip" to="/tasks" search={{ ...search, group: undefined }} aria-current={search.group === undefined ? "true" : undefined} activeOptions={exactly}>All</Link>
      {groups.map((g) => (
        <Link key={g.id} className="chip" to="/tasks" search={{ ...search, group: g.id }} aria-current={search.group === g.id ? "true" : undefined} activeOptions={exactly}>
          {g.word}{counts !== undefined && <span className="count">{grouped(counts[g.id])}</span>}
        </Link>
      ))}
      {list.length > 1 && (
        <select aria-label="Project" value={search.project ?? ""} onChange={(e) => void navigate({ to: "/tasks", search: { ...search, project: e.target.value || undefined } })}>
          <option value="">All projects</option>
          {list.map((p) => <option key={p.id} value={p.id}>{p.key} · {marked(p.name)}</option>)}
        </select>
      )}
    </nav>
  );
}

/** Searches while a user types, shortly after the last letter. */
function Search(): ReactNode {
  const search = useSearch({ from: "/tasks" }), navigate = useNavigate();
  const [text, setText] = useState(search.q ?? "");
  const shown = useRef(search.q ?? "");
  useEffect(() => {
    if ((search.q ?? "") !== shown.current) { // the address changed, for example by Back
      shown.current = search.q ?? "";
      setText(shown.current);
    }
  }, [search.q]);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (text.trim() !== shown.current) {
        shown.current = text.trim();
        void navigate({ to: "/tasks", search: (was) => ({ ...was, q: shown.current || undefined }), replace: true });
      }
    }, 200);
    return () => clearTimeout(timer);
  }, [text, navigate]);
  return (
    <form role="search" onSubmit={(e) => e.preventDefault()}>
      <input className="search" type="search" aria-label="Search title, key, ID, branch or repository" placeholder="Search title, key, branch   /" value={text} onChange={(e) => setText(e.target.value)} />
    </form>
  );
}

function Switch({ as }: { as?: "board" }): ReactNode {
  const search = useSearch({ from: "/tasks" });
  return (
    <span className="chips" role="group" aria-label="View">
      <Link className="chip" to="/tasks" search={{ ...search, as: undefined }} aria-current={as === undefined ? "true" : undefined} activeOptions={exactly}>List</Link>
      <Link className="chip" to="/tasks" search={{ ...search, as: "board" }} aria-current={as === "board" ? "true" : undefined} activeOptions={exactly}>Board</Link>
    </span>
  );
}

function Empty({ search }: { search: HomeSearch }): ReactNode {
  const may = useMay("write");
  const filters = [search.group && "group", search.project && "project", search.q && "search"].filter(Boolean);
  if (filters.length > 0) {
    return <div className="empty"><p>No task matches this {filters.join(" and ")}.</p><p><Link className="button" to="/tasks" search={{ as: search.as }}>Show all tasks</Link></p></div>;
  }
  return <div className="empty"><p>No tasks yet.</p><p className="muted">Next: <code>omoi run "..." --repo .</code>{may && <>, or <Link to="/tasks/new">a new task</Link></>}</p>{may && <Demo />}</div>;
}

const script = { steps: [{ say: "Hello. I am a scripted agent: I run a list of steps, without a model." }, { bash: { command: "ls -la" } }, { complete: { output: "Said hello." } }] };

const demo = "Demo";

/** Returns the project of the demo task, which has no repository. */
async function demoProject(): Promise<string> {
  const found = (await getProjects()).items.find((p) => p.name === demo && p.repo === "");
  return (found ?? await unwrap(api.POST("/api/v1/projects", { body: { name: demo } }))).id;
}

/** Creates the demo task, once. */
function Demo(): ReactNode {
  const client = useQueryClient(), navigate = useNavigate();
  const [key] = useState(() => newKey()), sent = useRef(false);
  const create = useMutation({
    mutationFn: async () => unwrap(api.POST("/api/v1/tasks", {
      params: { header: { "Idempotency-Key": key } },
      body: { project_id: await demoProject(), title: "Say hello", description: "Say hello. The agent is scripted: no model and no repository.", agent: "scripted", mode: "exploration", execution_config: { script } },
    })),
    onError: () => { sent.current = false; },
    onSuccess: (task) => {
      void client.invalidateQueries({ queryKey: ["tasks"] });
      void navigate({ to: "/tasks/$id", params: { id: task.key } });
    },
  });
  const run = (): void => {
    if (!sent.current) {
      sent.current = true;
      create.mutate();
    }
  };
  return (
    <>
      <button className="primary" disabled={create.isPending || create.isSuccess} onClick={run}>Run the demo task</button>
      {create.error !== null && <p className="bad" role="alert"><Text of={said(create.error)} /></p>}
    </>
  );
}
