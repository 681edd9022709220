import "./compare.css";
import "../replay/replay.css";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState, type ReactNode } from "react";

import { getTask, said, type Task } from "../lib/api";
import { exactly } from "../lib/links";
import { Text } from "../lib/text";
import { useChanges } from "../review/api";
import { useOutline, useStill } from "../stream/still";
import { Bars } from "./bars";
import { figuresOf, loading, type Attempt, type Side } from "./figures";
import { Files } from "./files";
import { sideOf } from "./search";

/** Two attempts, side by side. */
export default function Compare(): ReactNode {
  const { a, b } = useSearch({ from: "/compare" });
  useEffect(() => {
    document.title = "Compare · omoi";
  }, []);
  return (
    <>
      <div className="spread list-head"><h1>Compare</h1><Choose key={`${a} ${b}`} a={a} b={b} /></div>
      {a === undefined || b === undefined
        ? <p className="empty muted">Name two attempts, for example APP-12:1 and APP-12:2.</p>
        : <Loaded key={`${a} ${b}`} a={a} b={b} />}
    </>
  );
}

/** What is compared: a task and the number of its attempt. */
function Choose({ a, b }: { a?: string; b?: string }): ReactNode {
  const [one, setOne] = useState(a ?? ""), [other, setOther] = useState(b ?? ""), navigate = useNavigate();
  const go = (from: string, to: string): void => void navigate({ to: "/compare", search: { a: from.trim(), b: to.trim() } });
  return (
    <form className="spread" onSubmit={(e) => { e.preventDefault(); go(one, other); }}>
      <input aria-label="Attempt A" placeholder="APP-12:1" size={14} value={one} onChange={(e) => setOne(e.target.value)} />
      <input aria-label="Attempt B" placeholder="APP-12:2" size={14} value={other} onChange={(e) => setOther(e.target.value)} />
      <button disabled={sideOf(one) === undefined || sideOf(other) === undefined}>Compare</button>
      {a !== undefined && b !== undefined && <button type="button" onClick={() => go(b, a)}>Swap</button>}
    </form>
  );
}

interface Wanted { task: Task; attempt: Attempt }

/** The attempt that a word of the address names, or why there is none. */
function useWanted(word: string): { of?: Wanted; problem?: string } {
  const { id, attempt: number } = sideOf(word)!;
  const task = useQuery({ queryKey: ["task", id], queryFn: () => getTask(id) });
  if (task.data === undefined) {
    return task.error === null ? {} : { problem: said(task.error) };
  }
  const attempt = task.data.attempts.find((a) => a.number === (number ?? task.data.attempt_count));
  return attempt === undefined ? { problem: `${task.data.key} has no attempt ${number ?? 1}.` } : { of: { task: task.data, attempt } };
}

function Loaded({ a, b }: { a: string; b: string }): ReactNode {
  const one = useWanted(a), other = useWanted(b), problems = [one.problem, other.problem].filter((p) => p !== undefined);
  if (problems.length > 0) {
    return <div className="empty" role="alert">{[...new Set(problems)].map((p) => <p key={p}><Text of={p} /></p>)}</div>;
  }
  return one.of === undefined || other.of === undefined ? <p className="empty muted">Loading…</p> : <Both a={one.of} b={other.of} />;
}

function useSide({ task, attempt }: Wanted) {
  const { events, version } = useStill(task), log = events.log(attempt.number), point = String(attempt.number);
  useOutline(events, log, version);
  const changes = useChanges(task, "base", point), side: Side = { task, attempt, events, log, files: changes.data?.total_files ?? (changes.error === null ? undefined : null) };
  return { side, changes, point, task };
}

function Both({ a, b }: { a: Wanted; b: Wanted }): ReactNode {
  const search = useSearch({ from: "/compare" }), one = useSide(a), other = useSide(b);
  return (
    <>
      <section className="panel">
        <table className="sides">
          <thead><tr><th scope="col"><Link to="." search={{ ...search, all: search.all ? undefined : true }} activeOptions={exactly}>{search.all ? "Differences only" : "Show what is equal"}</Link></th><Name word="A" of={a} /><Name word="B" of={b} /></tr></thead>
          <tbody><Figures a={one.side} b={other.side} all={search.all ?? false} /></tbody>
        </table>
        <Bars sides={[["A", one.side], ["B", other.side]]} />
      </section>
      <section className="panel compare-files"><h2>Files</h2><Files a={one} b={other} all={search.all ?? false} /></section>
    </>
  );
}

function Name({ word, of }: { word: string; of: Wanted }): ReactNode {
  const { task, attempt } = of;
  return (
    <th scope="col">
      <b>{word}</b> <Link to="/tasks/$id" params={{ id: task.key }} search={{ attempt: attempt.number }}>{task.key}, attempt {attempt.number}</Link>
      {" "}<Link className="small" to="/tasks/$id/replay" params={{ id: task.key }} hash={`e${attempt.number}:1`}>Replay</Link>
      <div className="muted one-line"><Text of={task.title} /></div>
    </th>
  );
}

function Figures({ a, b, all }: { a: Side; b: Side; all: boolean }): ReactNode {
  const one = figuresOf(a), other = figuresOf(b), words = Object.keys(one), shown = words.filter((w) => all || one[w] !== other[w] || one[w] === loading);
  return (
    <>
      {shown.map((word) => <tr key={word} data-figure={word}><th scope="row">{word}</th><td><Text of={one[word]!} /></td><td><Text of={other[word]!} /></td></tr>)}
      {shown.length < words.length && <tr><td colSpan={3} className="muted small">Equal: {words.filter((w) => !shown.includes(w)).map((w) => w.toLowerCase()).join(", ")}.</td></tr>}
    </>
  );
}
