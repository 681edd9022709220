import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useLocation, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, useState, useSyncExternalStore, type ReactNode } from "react";

import { getTask, getWhy, type Task } from "../lib/api";
import { now } from "../lib/clock";
import { clock } from "../lib/format";
import { useKeys } from "../lib/keyboard";
import { useOld } from "../lib/reach";
import { lookOf, Status, wordOf } from "../lib/status";
import { exactly, useTabInView } from "../lib/links";
import { useMay } from "../lib/session";
import { Out, Text } from "../lib/text";
import { TaskEvents } from "../stream/events";
import type { Choice } from "../timeline/bar";
import { Timeline } from "../timeline/timeline";
import { QuestionsOf } from "../timeline/asked-here";
import { AskFrom, Outcome } from "../timeline/cards";
import { Actions, type Asking } from "./actions";
import { Change } from "./change";
import { Composer } from "./composer";
import { Details } from "./details";
import { Compared } from "./compared";
import { Facts } from "./facts";
import { Work } from "./work";
import { OpenQuestion } from "./open-question";
import { Question } from "./question";
import { NewestAnswer } from "./newest-answer";
import { useQuestions } from "./questions";
import { Messages } from "./messages";
import { Missing } from "./missing";
import { Receipts, useReceipts } from "./receipts";
import { Deletions } from "./deletions";
import { eventOf, pinnedTo, tabs, type Tab } from "./search";

const Output = lazy(() => import("../output/output"));
const Supervised = lazy(() => import("./supervised"));

/** A task. Its stream keeps it up to date; a task that has ended has none, and is asked for again at times. */
function useTask(id: string) {
  const ended = (q: { state: { data?: Task } }): boolean => q.state.data?.completed_at != null;
  return useQuery({
    queryKey: ["task", id], queryFn: () => getTask(id), staleTime: Infinity,
    refetchInterval: (q) => (ended(q) ? 15_000 : false), refetchOnWindowFocus: (q) => (ended(q) ? "always" : false),
  });
}

/** What only other routes tell is asked for at most this often while a task changes. */
const changesEvery = 1000;

export function TaskPage(): ReactNode {
  const { id } = useParams({ from: "/tasks/$id" });
  const task = useTask(id);
  if (task.data === undefined && task.error !== null) {
    return <Missing id={id} error={task.error} />;
  }
  return task.data === undefined ? <p className="muted empty">Loading…</p> : <Loaded key={task.data.id} task={task.data} id={id} />;
}

/** Opens the stream of a task while it is shown. */
function useEvents(task: Task, id: string): { events: TaskEvents; version: number } {
  const client = useQueryClient();
  const [events] = useState(() => new TaskEvents(task));
  const version = useSyncExternalStore(events.subscribe, events.snapshot);
  const soon = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    events.news = {
      task: (newest) => client.setQueryData(["task", id], newest),
      changed: () => {
        soon.current ??= setTimeout(() => {
          soon.current = undefined;
          for (const key of ["why", "budget", "receipt", "checkpoints", "work", "contract"]) {
            void client.invalidateQueries({ queryKey: [key] });
          }
        }, changesEvery);
      },
    };
    events.start();
    return () => events.stop();
  }, [events, client, id]);
  useEffect(() => events.learn(task), [events, task]);
  return { events, version };
}

function Loaded({ task, id }: { task: Task; id: string }): ReactNode {
  const navigate = useNavigate();
  const search = useSearch({ from: "/tasks/$id" }), { hash } = useLocation(), named = eventOf(hash);
  const { events, version } = useEvents(task, id);
  const newest = Math.max(task.attempt_count, ...events.logs.keys(), 0);
  const [began] = useState(newest); // a new attempt never takes the view of a reader who watches another
  const pinned = pinnedTo(events.logs, hash, search);
  const attempt = pinned ?? newest;
  const why = useQuery({ queryKey: ["why", task.id], queryFn: () => getWhy(task.id), refetchInterval: task.completed_at === null ? 5000 : false });
  const receipts = useReceipts(task);
  const said = why.data?.status === task.status ? why.data : undefined; // the one before a change explains nothing
  const waits = task.status === "pending" && ["waiting", "suspended"].includes(said?.state ?? "");
  const tab = search.tab ?? "timeline", log = events.log(attempt);
  useRoot({ head: log.head, complete: String(log.head > 0 && log.missing().length === 0), conn: events.connection, doubles: log.doubles });
  useEffect(() => {
    document.title = `${task.key} ${task.title} · ${lookOf(task.status).word}`;
  }, [task]);
  useTabKeys(task, attempt, pinned);
  useTabInView(tab);
  const [asking, ask] = useState<Asking>(), may = useMay("write");
  const { question } = task, questions = useQuestions(task);
  const [opened, noteOpened] = useState(question !== null), panel = question !== null && (task.status === "running" || task.blocked_reason === "question"); // the panel of the question says why
  if (question !== null && !opened) {
    noteOpened(true);
  }
  const asks = question === null && task.status === "running" && task.group === "needs_you", answer = (asks || question !== null) && may;
  const choose = (to: Choice): void => void navigate({ to: ".", hash: true, search: { ...search, every: to.every || undefined, only: to.only, tool: to.tool, find: to.find || undefined } });
  const current = task.attempts.find((a) => a.number === attempt), to = attempt < newest ? newest : undefined, running = current?.ended_at == null && task.completed_at === null;
  return (
    <div className="task">
      <div className="task-head">
        <div className="task-title">
          <h1><span className="key">{task.key}</span><Text of={task.title} /></h1>
          <State task={task} word={said?.state} newest={newest} />
          <Live events={events} />
          <Actions task={task} receipts={receipts} asking={asking} ask={ask} />
        </div>
        {!panel && (
          <div className={waits ? "notice waits" : undefined}>
            <p className="why-line">{waits && <b>Why it waits: </b>}<Why of={said?.why ?? task.why} pull={task.pull_request_url} /></p>
            {waits && <p data-change><Change task={task} next={said!.next} /></p>}
          </div>
        )}
        <Facts task={task} log={events.log(newest)} />
        {task.execution_config.candidate !== undefined && <Compared task={task} />}
        {task.attempts.length > 1 && <Attempts task={task} attempt={attempt} />}
        {pinned !== undefined && newest > attempt && newest > began && (
          <p className="notice small">Attempt {newest} started. <Link to="." search={{ ...search, attempt: undefined }} hash="">Show</Link></p>
        )}
        {current?.ended_at != null && attempt < newest && current.reason !== "" && <p className="notice small">Attempt {attempt} ended: <Text of={current.reason} /></p>}
        <Receipts receipts={receipts} task={task} />
        {question !== null ? <OpenQuestion key={question.id} of={question} task={task} receipts={receipts} /> : <NewestAnswer task={task} questions={questions} opened={opened} />}
        {asks && <Question task={task} events={events} log={events.log(newest)} version={version} />}
        <nav className="tabs" aria-label="Views of the task">
          {tabs.map((t) => <Link key={t} to="." search={{ ...search, attempt: pinned, tab: t === "timeline" ? undefined : t }} aria-current={t === tab ? "page" : undefined} activeOptions={exactly}>{t[0]!.toUpperCase() + t.slice(1)}</Link>)}
          <Link to="/tasks/$id/changes" params={{ id: task.key }}>Changes</Link>
          <span className="grow" />
          {log.head > 0 && <Link to="/tasks/$id/replay" params={{ id: task.key }} hash={`e${attempt}:1`}>Replay</Link>}
        </nav>
      </div>
      {tab === "timeline" && (
        <AskFrom value={may ? ask : undefined}><Outcome value={current?.outcome ?? ""}><QuestionsOf value={questions}>
          <Timeline key={attempt} events={events} log={log} version={version} running={running} chosen={named?.attempt === attempt ? named.sequence : 0}
            numbers={search.numbers ?? false} every={search.every ?? false} only={search.only} tool={search.tool} find={search.find} choose={choose} foot={<Numbers on={search.numbers ?? false} />} />
          {!answer && <Composer task={task} to={to} />}
        </QuestionsOf></Outcome></AskFrom>
      )}
      {tab === "output" && (
        <Suspense fallback={<p className="muted empty">Loading…</p>}>
          <Output events={events} log={log} version={version} running={running} sandbox={current?.sandbox_id} />
        </Suspense>
      )}
      {tab === "messages" && <div className="tab-body"><Messages task={task} log={log} events={events} />{!answer && <Composer task={task} to={to} />}</div>}
      {tab === "receipts" && <div className="tab-body"><Work task={task} /><Deletions task={task} receipts={receipts} /></div>}
      {tab === "details" && <div className="tab-body"><Details task={task} why={why.data} /><Suspense><Supervised task={task.id} /></Suspense></div>}
    </div>
  );
}

/** What the server says of a task in a sentence. It names the pull request by its address. */
function Why({ of, pull }: { of: string; pull: string | null }): ReactNode {
  const at = pull === null ? -1 : of.indexOf(pull);
  return at < 0 ? <Text of={of} /> : <><Text of={of.slice(0, at)} /><Out to={pull}><Text of={pull!} /></Out><Text of={of.slice(at + pull!.length)} /></>;
}

/** What the server says of a task in a word. What is old is not said of a task that may have moved on. */
function State({ task, word, newest }: { task: Task; word: string | undefined; newest: number }): ReactNode {
  const old = useOld();
  if (old !== undefined && task.completed_at === null) {
    return <Status word="unknown" detail={` since ${clock(now() - (performance.now() - old.since))}`} />;
  }
  const better = task.status === "running" && word !== undefined && ["waiting", "stuck", "unknown"].includes(word);
  return <Status word={better ? word : wordOf(task)} detail={newest > 1 ? ` · attempt ${newest}` : undefined} />;
}

/** Publishes what tests wait for. */
function useRoot(facts: Record<string, string | number>): void {
  useEffect(() => {
    Object.entries(facts).forEach(([name, value]) => (document.documentElement.dataset[name] = String(value)));
  });
}

function Numbers({ on }: { on: boolean }): ReactNode {
  const search = useSearch({ from: "/tasks/$id" });
  return <Link className="small aside" to="." hash={true} search={{ ...search, numbers: on ? undefined : true }}>{on ? "Hide event numbers" : "Event numbers"}</Link>;
}

const words: Record<string, [string, string]> = {
  connecting: ["Connecting", "wait"], live: ["Live", "done"], lost: ["Reconnecting", "fail"], hidden: ["Paused", "wait"],
  ended: ["Ended", "wait"], refused: ["No stream", "fail"],
};

/** The state of the stream. */
function Live({ events }: { events: TaskEvents }): ReactNode {
  const [word, tone] = words[events.connection]!;
  const problem = events.connection === "refused" ? events.problem?.detail : undefined;
  return <span className={`small s-${tone}`} role="status" title={problem ?? "State of the stream of events"}>{word}{problem !== undefined && <>: <Text of={problem} /></>}</span>;
}

function Attempts({ task, attempt }: { task: Task; attempt: number }): ReactNode {
  const search = useSearch({ from: "/tasks/$id" });
  return (
    <nav className="attempts" aria-label="Attempts">
      {task.attempts.map((a) => (
        <Link key={a.number} className="attempt" to="." hash="" search={{ ...search, attempt: a.number === task.attempt_count ? undefined : a.number }}
          aria-current={a.number === attempt ? "true" : undefined} activeOptions={exactly} title={a.reason}>
          <span>{a.number} {a.kind === "first" ? "" : a.kind}</span>
          <span className={`one-line ${["failed", "rejected"].includes(a.outcome) ? "bad" : a.outcome === "completed" ? "s-done" : ""}`}>{a.outcome === "" ? "running" : a.outcome}{a.outcome === "failed" && <>: <Text of={a.reason || a.failure_class.replaceAll("_", " ")} /></>}</span>
        </Link>
      ))}
      <Link className="small" to="/compare" search={{ a: `${task.key}:${Math.max(1, attempt - 1)}`, b: `${task.key}:${Math.max(2, attempt)}` }}>Compare</Link>
    </nav>
  );
}

function useTabKeys(task: Task, attempt: number, pinned: number | undefined): void {
  const navigate = useNavigate(), search = useSearch({ from: "/tasks/$id" });
  const go = (n: number): void => {
    if (task.attempts.some((a) => a.number === n)) {
      void navigate({ to: ".", hash: "", search: { ...search, attempt: n === task.attempt_count ? undefined : n } });
    }
  };
  useKeys((event) => {
    const tab: Tab | undefined = tabs[Number(event.key) - 1];
    if (tab !== undefined) {
      void navigate({ to: ".", search: { ...search, attempt: pinned, tab: tab === "timeline" ? undefined : tab } });
    }
    if (event.key === "6") {
      void navigate({ to: "/tasks/$id/changes", params: { id: task.key } });
    }
    if (event.key === "[" || event.key === "]") {
      go(attempt + (event.key === "]" ? 1 : -1));
    }
    if (event.key === "#") {
      void navigate({ to: ".", hash: true, search: { ...search, numbers: search.numbers ? undefined : true } });
    }
  });
}
