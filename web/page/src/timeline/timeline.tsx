import { useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from "react";

import { duration, grouped, many } from "../lib/format";
import { focus, useKeys } from "../lib/keyboard";
import { Text } from "../lib/text";
import { keyOf, type TaskEvents } from "../stream/events";
import { useOutline } from "../stream/still";
import { Kind, type AttemptLog } from "../stream/store";
import { Filter, Jump, type Choice } from "./bar";
import { Find, useHits, type Hits } from "./find";
import { layout, type Class, type Layout } from "./layout";
import { List, type ListHandle } from "./list";
import { Overview } from "./overview";
import { takePlace, useKeptPlace } from "./place";
import { Row } from "./row";

export interface TimelineProps {
  events: TaskEvents;
  log: AttemptLog;
  /** Changes when events arrive. */
  version: number;
  /** Whether the attempt runs: a call without an end is still running. */
  running: boolean;
  /** The event that the address names; 0: none. */
  chosen: number;
  numbers: boolean;
  /** Whether events without a row are shown, too. */
  every: boolean;
  only?: Class;
  tool?: string;
  /** A text that the reader searches. */
  find?: string;
  /** Sets what is shown. Left out: the reader cannot choose. */
  choose?: (choice: Choice) => void;
  /** The newest event that is shown. Left out: the newest one. */
  until?: number;
  foot?: ReactNode;
}

/** The events of one attempt, live or, with until, as they were. */
export function Timeline(props: TimelineProps): ReactNode {
  const { events, log, version, chosen, every, only, tool, find = "", foot } = props;
  const until = Math.min(props.until ?? log.head, log.head);
  const list = useRef<ListHandle>(null);
  const name = `omoi.place.${events.sandboxOf(log.attempt)}`;
  const start = useMemo(() => takePlace(name), [name]);
  const [follow, setFollow] = useState(chosen === 0 && start === undefined);
  useKeptPlace(name, () => (follow || props.until !== undefined ? undefined : list.current?.place()));
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [at, setAt] = useState(chosen); // the row that the reader went to
  const reading = useRef(chosen); // the row to which a change of the filter returns, until the reader scrolls
  const read = useRef(log.head);
  if (follow) {
    read.current = log.head;
  }
  const goTo = useCallback((n: number) => {
    setAt(n);
    reading.current = n;
    list.current?.reveal(log.rowOf(n) - 1);
  }, [log]);
  const reloaded = useRef(start !== undefined);
  useEffect(() => {
    if (chosen > 0 && !reloaded.current) {
      goTo(chosen);
    }
    reloaded.current = false;
  }, [chosen, goTo]);
  useOutline(events, log, version);
  const hits = useHits(log, events.sandboxOf(log.attempt), find, version);
  const step = (by: 1 | -1): void => stepTo(hits.rows, log.rowOf(at), by, goTo);
  const firstHit = hits.rows[0];
  useEffect(() => {
    if (firstHit !== undefined) {
      goTo(firstHit);
    }
  }, [find, firstHit, goTo]);
  const failures = useMemo(() => [...log.failures].sort((a, b) => a - b), [log, version]);
  const failure = (by: 1 | -1): void => stepTo(failures, log.rowOf(at), by, goTo);
  useKeys((event, before) => {
    const keys: Record<string, (() => void) | undefined> = {
      G: () => setFollow(true), g: () => before === "g" && goTo(1), e: () => failure(1), E: () => failure(-1), n: () => step(1), N: () => step(-1), f: () => focus(event, "[data-find]"),
    };
    keys[event.key]?.();
  });
  const view = useMemo(
    () => layout(log, { every, only, tool, open, keep: log.rowOf(at), until }),
    [log, version, every, only, tool, open, at, until],
  );
  const toggle = useCallback((n: number): void => {
    reading.current = Math.abs(n);
    list.current?.stay();
    setOpen((was) => (was.has(n) ? new Set([...was].filter((m) => m !== n)) : new Set([...was, n])));
  }, []);
  const filter = `${only} ${tool} ${every}`, filtered = useRef(filter);
  useEffect(() => {
    if (filtered.current !== filter && reading.current > 0) {
      list.current?.reveal(log.rowOf(reading.current) - 1);
    }
    filtered.current = filter;
  }, [filter, log]);
  const unread = log.head - read.current;
  return (
    <section className="timeline" aria-label="Timeline" data-follow={follow}>
      {until === 0
        ? <div className="feed"><p className="empty muted">No events yet.</p></div>
        : (
          <div className="feed-box">
            <Overview log={log} version={version} until={until} goTo={goTo} />
            <List key={log.attempt} count={until} label={`Events of attempt ${log.attempt}`} shown={view.shown} follow={follow} onFollow={setFollow} onScrolled={() => { reading.current = 0; }} handle={list} start={start}
              row={(index) => <Place n={index + 1} of={props} view={view} at={at} open={open} toggle={toggle} />} />
          </div>
        )}
      <div className="timeline-foot">
        <Completeness log={log} chosen={only !== undefined || tool !== undefined} />
        {props.choose !== undefined && failures.length > 0 && <Failures count={failures.length} place={failures.indexOf(log.rowOf(at)) + 1} go={failure} />}
        {props.choose !== undefined && <Tools {...props} choose={props.choose} hits={hits} at={log.rowOf(at)} step={step} goTo={goTo} />}
        {foot}
        <span className="grow" />
        {!follow && (
          <button className="pill" onClick={() => setFollow(true)}>{props.until !== undefined ? "This moment" : unread > 0 ? `${grouped(unread)} new` : "Newest"} ↓</button>
        )}
      </div>
    </section>
  );
}

/** Goes from error to error. place: the number of the error to which the reader went; 0: none. */
function Failures({ count, place, go }: { count: number; place: number; go: (by: 1 | -1) => void }): ReactNode {
  return (
    <span className="steps-of">
      <button className="small" aria-label="Previous error" title="Previous error   E" onClick={() => go(-1)}>↑</button>
      <span className="bad small">{place > 0 && `${grouped(place)} of `}{many(count, "error")}</span>
      <button className="small" aria-label="Next error" title="Next error   e" onClick={() => go(1)}>↓</button>
    </span>
  );
}

interface ToolsProps extends TimelineProps { choose: (choice: Choice) => void; hits: Hits; at: number; step: (by: 1 | -1) => void; goTo: (n: number) => void }

/** What finds a row: by its kind, its text, its number or its time. */
function Tools({ log, every, only, tool, find = "", choose, hits, at, step, goTo }: ToolsProps): ReactNode {
  const choice = { every, only, tool, find };
  return (
    <span className="aside spread">
      <Find key={find} text={find} find={(text) => choose({ ...choice, find: text })} hits={hits} at={at} step={step} />
      <Filter log={log} choice={choice} choose={(to) => choose({ ...to, find })} />
      <Jump log={log} goTo={goTo} />
    </span>
  );
}

interface PlaceProps { n: number; of: TimelineProps; view: Layout; at: number; open: ReadonlySet<number>; toggle: (n: number) => void }

/** What is at the place of an event: a silence before it, the run that begins with it, and its row. */
function Place({ n, of, view, at, open, toggle }: PlaceProps): ReactNode {
  const { events, log, running, numbers, every } = of;
  const quiet = view.silences.get(n), run = view.runs.get(n);
  if (!every && log.kindAt(n) >= Kind.Heartbeat) {
    return null; // its kind became known after the layout was made
  }
  return (
    <>
      {quiet !== undefined && <div className="gap-row">quiet for {duration(quiet)}</div>}
      {run !== undefined && <Run log={log} n={n} length={run} open={open.has(-n)} toggle={() => toggle(-n)} />}
      {(run === undefined || open.has(-n)) && <Held {...{ events, log, running, numbers, n, open, toggle }} chosen={n === log.rowOf(at)} inside={view.inside.get(n) ?? 0} until={view.shown.length} moment={of.until === undefined ? undefined : log.timeAt(view.shown.length)} />}
    </>
  );
}

interface HeldProps {
  events: TaskEvents; log: AttemptLog; n: number; running: boolean; numbers: boolean; chosen: boolean; inside: number; until: number; moment?: number;
  open: ReadonlySet<number>; toggle: (n: number) => void;
}

/** The row of an event, as soon as its body is here. */
function Held({ events, log, n, until, open, ...row }: HeldProps): ReactNode {
  const event = log.body(n);
  if (event === undefined) {
    const refusal = events.refusals.get(keyOf(log, n));
    events.need(log, n);
    return <div className="hole">{grouped(n)} {refusal === undefined ? "…" : <Text of={refusal} />}</div>;
  }
  const numbers = log.endsOf(event).filter((end) => end <= until), ends = numbers.map((end) => log.body(end));
  ends.forEach((end, i) => end === undefined && events.need(log, numbers[i]!));
  const held = ends.filter((end) => end !== undefined), result = numbers.filter((end) => log.typeAt(end) !== "agent.file_edited");
  return <Row {...row} event={event} ends={held} endedAt={Math.max(0, ...result.map((end) => log.timeAt(end)))} inner={log.parentAt(n) > 0} open={open.has(n)} />;
}

/** A run of calls that only read. */
function Run({ log, n, length, open, toggle }: { log: AttemptLog; n: number; length: number; open: boolean; toggle: () => void }): ReactNode {
  return (
    <div className="event run">
      <span />
      <span className="label one-line"><Text of={log.toolAt(n)} /></span>
      <div className="main grow"><button className="text fold" aria-expanded={open} onClick={toggle}><span className="grow muted">{grouped(length)} reads and searches</span></button></div>
    </div>
  );
}

/** Goes to the next or previous one of some rows, and from the last to the first. */
function stepTo(rows: number[], at: number, by: 1 | -1, goTo: (n: number) => void): void {
  const next = by > 0 ? rows.find((n) => n > at) ?? rows[0] : rows.findLast((n) => n < at) ?? rows.at(-1);
  if (next !== undefined) {
    goTo(next);
  }
}

/** Says whether every number from 1 to the newest was received. */
function Completeness({ log, chosen }: { log: AttemptLog; chosen: boolean }): ReactNode {
  if (log.head === 0) {
    return null;
  }
  const missing = log.missing();
  if (missing.length === 0) {
    return <span className="muted small" title="Every sequence number arrived exactly once.">1..{grouped(log.head)} complete</span>;
  }
  const held = log.head - missing.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  return <span className="muted small">{grouped(held)} of {grouped(log.head)} events loaded; {chosen ? "only these are filtered" : "scrolling loads the rest"}</span>;
}
