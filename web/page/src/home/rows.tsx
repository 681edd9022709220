import { Link } from "@tanstack/react-router";
import { memo, useEffect, useLayoutEffect, useReducer, useRef, type KeyboardEvent, type ReactNode } from "react";

import type { Task } from "../lib/api";
import { useNow } from "../lib/clock";
import { age, date, grouped, ordinal } from "../lib/format";
import { useKeys } from "../lib/keyboard";
import { useOld } from "../lib/reach";
import { Status, wordOf } from "../lib/status";
import { Text } from "../lib/text";

/** A line of the list: the head of a group, or a task. */
export type Line = { id: string; word: string; count?: number; task?: undefined } | { id: string; task: Task; word?: undefined };

const narrow = matchMedia("(max-width: 760px)");
const headHeight = 36;

/** Rows of known heights, of which only those near the window are mounted. */
export function Rows({ lines, more }: { lines: Line[]; more?: () => void }): ReactNode {
  const box = useRef<HTMLDivElement>(null), [, redraw] = useReducer((n: number) => n + 1, 0);
  const top = useRef(0);
  const rowHeight = narrow.matches ? 100 : 52;
  useKeys((event) => move(event, { j: 1, k: -1 }[event.key], box.current));
  useLayoutEffect(() => {
    const look = (): void => {
      top.current = window.scrollY - (box.current?.offsetTop ?? 0);
      redraw();
    };
    look();
    window.addEventListener("scroll", look, { passive: true });
    window.addEventListener("resize", look);
    return () => {
      window.removeEventListener("scroll", look);
      window.removeEventListener("resize", look);
    };
  }, []);
  const places: number[] = [];
  let total = 0;
  for (const line of lines) {
    places.push(total);
    total += line.task === undefined ? headHeight : rowHeight;
  }
  const from = top.current - 600, to = top.current + window.innerHeight + 600;
  const first = Math.max(0, places.findIndex((p) => p + rowHeight >= from)), shown = lines.map((line, n) => ({ line, n })).slice(first).filter(({ n }) => places[n]! <= to);
  const atEnd = total < to;
  useEffect(() => {
    if (atEnd) {
      more?.();
    }
  }, [atEnd, more, lines.length]);
  if (lines.length === 0) {
    return null;
  }
  return (
    <div className="rows-box" ref={box} onKeyDown={(e) => move(e, { ArrowDown: 1, ArrowUp: -1 }[e.key], e.currentTarget)}>
      <div className="rows" style={{ height: total }}>
        <div style={{ transform: `translateY(${places[first] ?? 0}px)` }}>
          {shown.map(({ line }) => (line.task === undefined
            ? <h2 key={line.id} className="group" style={{ height: headHeight }}>{line.word}{line.count !== undefined && <span>{grouped(line.count)}</span>}</h2>
            : <TaskRow key={line.id} task={line.task} />))}
        </div>
      </div>
    </div>
  );
}

/** Moves the focus between rows. */
function move(event: Pick<KeyboardEvent, "ctrlKey" | "metaKey" | "preventDefault">, step: number | undefined, box: HTMLElement | null): void {
  if (step === undefined || box === null || event.ctrlKey || event.metaKey) {
    return;
  }
  const rows = [...box.querySelectorAll<HTMLElement>(".task-row")];
  const next = rows[rows.indexOf(document.activeElement as HTMLElement) + step];
  if (next !== undefined) {
    event.preventDefault();
    next.focus();
  }
}

const TaskRow = memo(function TaskRow({ task }: { task: Task }): ReactNode {
  const old = useOld(), word = old !== undefined && task.completed_at === null ? "unknown" : wordOf(task);
  return (
    <Link to="/tasks/$id" params={{ id: task.key }} className="task-row">
      <Status word={word} detail={word === "pending" && task.queue_position !== null ? `, ${ordinal(task.queue_position)}` : undefined} />
      <span className="title one-line strong"><span className="key">{task.key}</span><Text of={task.title} /></span>
      <span className="agent one-line muted small">{task.agent} · {task.provider}</span>
      <span className="tries muted small right">{task.attempt_count > 1 ? `attempt ${task.attempt_count}` : ""}</span>
      <Age task={task} />
      <span className={`why one-line small ${["needs_you", "waiting"].includes(task.group) ? "" : "muted"}`}><Text of={task.why} /></span>
    </Link>
  );
});

function Age({ task }: { task: Task }): ReactNode {
  const at = task.completed_at ?? task.started_at ?? task.created_at, word = task.completed_at !== null ? "Ended" : task.started_at !== null ? "Started" : "Created";
  return <time className="age muted small right" dateTime={at} title={`${word} ${date(at)}`}><span className="hidden-text">{word} </span>{age(useNow() - Date.parse(at))} ago</time>;
}
