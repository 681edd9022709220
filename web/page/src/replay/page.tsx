import "./replay.css";
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation, useNavigate, useParams } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from "react";

import { getTask, type Task } from "../lib/api";
import { clock, count, date, duration, grouped, usd } from "../lib/format";
import { Text } from "../lib/text";
import { commandsOf } from "../output/commands";
import { Commands } from "../output/list";
import type { TaskEvents } from "../stream/events";
import { useStill } from "../stream/still";
import type { AttemptLog } from "../stream/store";
import { Missing } from "../task/missing";
import { eventOf } from "../task/search";
import { Timeline } from "../timeline/timeline";
import { Controls } from "./controls";
import { Files } from "./files";
import { spentAt } from "./moment";

export default function Replay(): ReactNode {
  const { id } = useParams({ from: "/tasks/$id/replay" });
  const task = useQuery({ queryKey: ["task", id], queryFn: () => getTask(id), staleTime: Infinity });
  if (task.data === undefined && task.error !== null) {
    return <Missing id={id} error={task.error} />;
  }
  return task.data === undefined ? <p className="muted empty">Loading…</p> : <Loaded key={task.data.id} task={task.data} />;
}

function Loaded({ task }: { task: Task }): ReactNode {
  const named = eventOf(useLocation().hash), { events, version } = useStill(task);
  const number = named?.attempt ?? task.attempt_count, attempt = task.attempts.find((a) => a.number === number);
  useEffect(() => {
    document.title = `${task.key} ${task.title} · Replay`;
  }, [task]);
  return (
    <div className="replay">
      <div className="task-title">
        <h1><Link className="key" to="/tasks/$id" params={{ id: task.key }} search={{ attempt: number === task.attempt_count ? undefined : number }}>{task.key}</Link><Text of={task.title} /></h1>
        <span className="muted">Replay</span>
        <Link to="/tasks/$id" params={{ id: task.key }} search={{ attempt: number === task.attempt_count ? undefined : number }}>Back to the task</Link>
        {task.attempts.length > 1 && (
          <nav className="attempts" aria-label="Attempts">
            {task.attempts.map((a) => <Link key={a.number} className="attempt" to="." hash={`e${a.number}:1`} aria-current={a.number === number ? "true" : undefined}>Attempt {a.number}</Link>)}
          </nav>
        )}
      </div>
      {attempt === undefined || attempt.events === 0
        ? <p className="empty muted">{attempt === undefined ? `There is no attempt ${number}.` : `Attempt ${number} has no events.`}</p>
        : <Player key={number} task={task} events={events} version={version} log={events.log(number)} asked={named?.sequence ?? 1} attempt={attempt} />}
    </div>
  );
}

interface Props { task: Task; events: TaskEvents; version: number; log: AttemptLog; asked: number; attempt: Task["attempts"][number] }

function Player({ task, events, version, log, asked, attempt }: Props): ReactNode {
  const { n, go } = usePlace(log, asked);
  const commands = useMemo(() => commandsOf(log, n), [log, n, version]), at = log.timeAt(n);
  return (
    <>
      <Controls log={log} version={version} n={n} go={go} />
      {asked > log.head && <p className="notice small" role="status">There is no event {grouped(asked)}: attempt {log.attempt} has the events 1 to {grouped(log.head)}.</p>}
      {attempt.ended_at === null && <p className="muted small">The attempt is running; the replay has its events up to now. Reload the page for later ones.</p>}
      <Moment events={events} log={log} n={n} started={attempt.started_at} />
      <div className="replay-panes" data-moment={n}>
        <Timeline events={events} log={log} version={version} running={true} chosen={0} numbers={false} every={false} until={n} />
        <Files task={task} events={events} log={log} n={n} />
        <section className="panel replay-output" aria-label="Output">
          <h2>Output</h2>
          <Commands events={events} log={log} commands={commands} at={at} running={true} find="" />
        </section>
      </div>
    </>
  );
}

/** The event that is shown. The address names it, once the reader rests. */
function usePlace(log: AttemptLog, asked: number): { n: number; go: (n: number) => void } {
  const [n, setN] = useState(asked), named = useRef(asked), navigate = useNavigate();
  const within = Math.max(1, Math.min(n, log.head));
  useEffect(() => {
    if (asked !== named.current) { // the address changed, for example by Back
      named.current = asked;
      setN(asked);
    }
  }, [asked]);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (n !== named.current) {
        named.current = n;
        void navigate({ to: ".", hash: `e${log.attempt}:${n}`, replace: true, resetScroll: false, hashScrollIntoView: false });
      }
    }, 300);
    return () => clearTimeout(timer);
  }, [n, log, navigate]);
  const go = useCallback((to: number) => setN(Math.max(1, Math.min(to, log.head))), [log]);
  return { n: within, go };
}

/** Clock, cost and tokens of the moment. */
function Moment({ events, log, n, started }: { events: TaskEvents; log: AttemptLog; n: number; started: string }): ReactNode {
  const at = log.timeAt(n), spent = spentAt(events, log, n);
  return (
    <p className="facts moment" data-usd={spent?.usd}>
      {at > 0 && <span><b><time dateTime={new Date(at).toISOString()} title={date(at)}>{clock(at)}</time></b></span>}
      {at > 0 && <span><b>{duration(at - Date.parse(started))}</b> after the start of attempt {log.attempt}</span>}
      {spent === undefined && <span>Loading…</span>}
      {spent === null && <span>no cost reported yet</span>}
      {spent != null && <span><b>{usd(spent.usd, spent.unknown)}</b> and <b>{count(spent.tokens)}</b> tokens so far</span>}
    </p>
  );
}
