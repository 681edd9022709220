import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { said } from "../lib/api";
import { useNow } from "../lib/clock";
import { age, date } from "../lib/format";
import { useMay } from "../lib/session";
import { Text } from "../lib/text";

interface Query<T> { data?: T; error: Error | null; failureReason?: Error | null; hasNextPage?: boolean; isFetchingNextPage?: boolean; fetchNextPage?: () => unknown }

/** Shows what a query answered, or that it loads, or why it failed. */
export function Answer<T>({ of, children }: { of: Query<T>; children: (data: T) => ReactNode }): ReactNode {
  if (of.data === undefined) {
    return of.error === null ? <p className="muted empty">Loading…{of.failureReason != null && <> <Text of={said(of.failureReason)} /></>}</p> : <p className="notice bad" role="alert"><Text of={said(of.error)} /></p>;
  }
  return (
    <>
      {children(of.data)}
      {of.hasNextPage && <p><button disabled={of.isFetchingNextPage} onClick={() => void of.fetchNextPage?.()}>Show more</button></p>}
    </>
  );
}

export interface Column<T> {
  head: string;
  cell: (of: T) => ReactNode;
  right?: boolean;
  /** The scope without which the column has nothing to show. */
  scope?: "write" | "admin";
}

interface TableProps<T> { label: string; items: T[]; id: (of: T) => string; columns: Column<T>[]; empty: string }

/** A table; on a phone each row is a block with its heads. */
export function Table<T>({ label, items, id, columns: all, empty }: TableProps<T>): ReactNode {
  const may = { write: useMay("write"), admin: useMay("admin") };
  const columns = all.filter((c) => c.scope === undefined || may[c.scope]);
  if (items.length === 0) {
    return <p className="muted message">{empty}</p>;
  }
  return (
    <table className="stack" aria-label={label}>
      <thead><tr>{columns.map((c) => <th key={c.head} scope="col" className={c.right ? "right" : undefined}>{c.head}</th>)}</tr></thead>
      <tbody>
        {items.map((item) => (
          <tr key={id(item)}>{columns.map((c) => <td key={c.head} data-head={c.head} className={c.right ? "right" : undefined}>{c.cell(item)}</td>)}</tr>
        ))}
      </tbody>
    </table>
  );
}

export function Panel({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }): ReactNode {
  return <section className="panel" aria-label={title}><h2 className="spread"><span className="grow">{title}</span>{aside}</h2>{children}</section>;
}

/** A state in a word. */
export function Mark({ tone, word }: { tone: string; word: string }): ReactNode {
  return <span className={`status s-${tone}`} data-mark={word}>{word}</span>;
}

/** The age of a moment, with the whole date as tooltip. */
export function Ago({ at }: { at: string }): ReactNode {
  return <time dateTime={at} title={date(at)}>{age(useNow() - Date.parse(at))} ago</time>;
}

/** The time until a moment. */
export function Due({ at }: { at: string }): ReactNode {
  const left = Date.parse(at) - useNow();
  return <time dateTime={at} title={date(at)}>{left <= 0 ? "now" : `in ${age(left)}`}</time>;
}

/** Links to a task, or to an event of one of its attempts. */
export function TaskLink({ id, attempt, event, children }: { id: string; attempt?: number; event?: number; children: ReactNode }): ReactNode {
  return <Link to="/tasks/$id" params={{ id }} search={attempt ? { attempt } : {}} hash={event === undefined ? undefined : `e${attempt}:${event}`}>{children}</Link>;
}

/** The events that a statement names as its evidence. */
export function Evidence({ task, attempt, events }: { task: string; attempt: number; events: number[] | null | undefined }): ReactNode {
  return (events ?? []).length === 0 ? null : (
    <span className="small muted">Evidence: {events!.slice(0, 10).map((n, i) => <span key={n}>{i > 0 && ", "}<TaskLink id={task} attempt={attempt} event={n}>event {n}</TaskLink></span>)}{events!.length > 10 && ` and ${events!.length - 10} more`}</span>
  );
}
