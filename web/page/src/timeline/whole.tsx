import { useQueries } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { getEvent, getPart, said, type Event } from "../lib/api";
import { bytes } from "../lib/format";
import { Text } from "../lib/text";
import { cardOf, type Card } from "./cards";

/** A text of an event that came cut, or not at all: only the server knows how long the latter is. */
interface Lacking { event: Event; part: string; bytes?: number }

/** Loaded with one request, and at first. */
const piece = 2 ** 20;

/** The texts that an event lacks. No card shows a transcript. */
export function lacking(event: Event): Lacking[] {
  const omitted = (event.omitted ?? []).filter((name) => name !== "transcript_b64").map((name) => ({ event, part: name === "*" ? "*" : `/${name}` }));
  return [...omitted, ...(event.truncated ?? []).map((t) => ({ event, part: t.part, bytes: t.bytes }))];
}

/** The card of an event. Texts that it lacks are loaded when the reader opens them. */
export function wholeCardOf(event: Event, ends: Event[]): Card {
  const card = cardOf(event, ends), all = [event, ...ends], lacks = all.flatMap(lacking);
  if (lacks.length === 0) {
    return card;
  }
  if (card.more !== undefined) {
    return { ...card, more: () => <Whole of={all} draw={(e, rest) => moreOf(cardOf(e, rest))} /> };
  }
  return { ...card, all: { label: `Show all${sizeOf(lacks)}`, draw: () => <Whole of={all} draw={(e, rest) => cardOf(e, rest).main} /> } };
}

/** The length of what an event lacks, to be said after "Show all". */
export function sizeOf(lacks: Lacking[]): string {
  return lacks.some((l) => l.bytes === undefined) ? ", over 16 KiB" : ` ${bytes(lacks.reduce((sum, l) => sum + l.bytes!, 0))}`;
}

const moreOf = (card: Card): ReactNode => card.more?.() ?? card.main;

/** Loads the texts that events lack, and draws the first event and the others with them. */
export function Whole({ of, draw }: { of: Event[]; draw: (event: Event, rest: Event[]) => ReactNode }): ReactNode {
  const [most, setMost] = useState(piece);
  const lacks = of.flatMap(lacking);
  const loaded = useQueries({
    queries: lacks.map((l) => ({ queryKey: ["part", l.event.id, l.part, most], queryFn: () => load(l, most), staleTime: Infinity, placeholderData: (was?: Loaded) => was })),
  });
  const error = loaded.find((q) => q.error !== null)?.error;
  if (error !== undefined) {
    return <p className="bad small" role="alert"><Text of={said(error)} /></p>;
  }
  if (loaded.some((q) => q.data === undefined)) {
    return <p className="muted small">Loading…</p>;
  }
  const parts = loaded.map((q) => q.data!), [event, ...ends] = of.map((e) => patched(e, lacks, parts));
  const held = parts.reduce((sum, p) => sum + p.held, 0), total = parts.reduce((sum, p) => sum + p.total, 0);
  return (
    <>
      {draw(event!, ends)}
      {held < total && <p className="muted small">The first {bytes(held)}. <button className="text" onClick={() => setMost(total)} disabled={loaded.some((q) => q.isFetching)}>Show all {bytes(total)}</button></p>}
    </>
  );
}

interface Loaded { value: unknown; held: number; total: number }

async function load({ event, part }: Lacking, most: number): Promise<Loaded> {
  if (part === "*") {
    return { value: (await getEvent(event)).event_data, held: 0, total: 0 };
  }
  let text = "", total = 0, next: number | null = 0;
  while (next !== null && next < most) {
    const answer = await getPart(event, part, next, Math.min(piece, most - next));
    text += answer.text;
    total = answer.total_bytes;
    next = answer.next_offset_bytes;
  }
  return { value: text, held: next ?? total, total };
}

/** An event with the loaded texts in their places. */
function patched(event: Event, lacks: Lacking[], parts: Loaded[]): Event {
  const data = structuredClone(event.event_data) as Record<string, unknown>;
  lacks.forEach((l, n) => {
    if (l.event === event) {
      put(data, l.part, parts[n]!.value, l.bytes === undefined);
    }
  });
  return { ...event, event_data: data, omitted: undefined, truncated: undefined };
}

/** Puts a value at a JSON pointer. A field that was left out may be an object, which the server sends as JSON. */
function put(data: Record<string, unknown>, pointer: string, value: unknown, any: boolean): void {
  if (pointer === "*") {
    Object.assign(data, value);
    return;
  }
  const names = pointer.split("/").slice(1).map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  let at: unknown = data;
  for (const name of names.slice(0, -1)) {
    at = typeof at === "object" && at !== null && Object.hasOwn(at, name) ? (at as Record<string, unknown>)[name] : undefined;
  }
  if (typeof at === "object" && at !== null) {
    Object.defineProperty(at, names.at(-1)!, { value: any ? objectOf(value) : value, enumerable: true, configurable: true, writable: true });
  }
}

/** The object that a text is, or of which it is the beginning; else the text. */
function objectOf(value: unknown): unknown {
  if (typeof value !== "string" || !/^[[{]/.test(value)) {
    return value;
  }
  const whole = value.replace(/\\(u[\da-f]{0,3})?$/i, "");
  for (const end of ["", '"}', '"}}', '"}]', '"]}']) {
    try {
      return JSON.parse((end === "" ? value : whole) + end) as unknown;
    } catch {
      // the text ends elsewhere
    }
  }
  return value;
}
