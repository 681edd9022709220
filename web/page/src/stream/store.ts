import type { Event } from "../lib/api";

/** Bodies are kept in pages of this many events, and only the pages used last. */
export const pageSize = 256;
const mostPages = 24;
const fewestPages = 2;
const mostBytes = 16 * 2 ** 20;

/** What every event leaves behind, also when its body is dropped: the kind decides whether it has a row. */
export const enum Kind { Unknown, Row, Heartbeat, Usage, CallEnd }

/** What the outline says of an event: its names, without the body. */
export interface Line { type: string; tool: string; call: string; time: number }

const kinds: Record<string, Kind> = {
  "agent.heartbeat": Kind.Heartbeat,
  heartbeat: Kind.Heartbeat,
  "spec.heartbeat": Kind.Heartbeat,
  "agent.assistant_message": Kind.Usage,
};

const ofMessages = new Set(["agent.message_injected", "agent.message_dropped"]);
const ofExchanges = new Set([...ofMessages, "agent.interrupted", "agent.waiting"]);
const starts = new Set(["agent.tool_use", "agent.subagent_invoked", "agent.skill_invoked"]);
const results = ["agent.tool_completed", "agent.tool_result", "agent.user_tool_result", "agent.subagent_completed", "agent.skill_completed"];
const ends = new Set([...results, "agent.file_edited"]);

interface Page { bodies: (Event | undefined)[]; bytes: number }
interface Call { start?: number; ends: number[] }

/** Names, each of which a small number stands for. */
class Names {
  readonly list: string[] = [""];
  private readonly numbers = new Map([["", 0]]);

  of(name: string): number {
    const known = this.numbers.get(name) ?? this.list.push(name) - 1;
    this.numbers.set(name, known);
    return known;
  }
}

/** Ranges of numbers, sorted and apart. */
export class Ranges {
  readonly list: [number, number][] = [];

  has(n: number): boolean {
    return this.list.some(([from, to]) => n >= from && n <= to);
  }

  add(n: number): void {
    let at = this.list.length; // events arrive in order: the place is nearly always the end
    while (at > 0 && this.list[at - 1]![0] > n) {
      at--;
    }
    const before = this.list[at - 1], after = this.list[at];
    if (before !== undefined && n <= before[1]) {
      return;
    }
    const joinsBefore = before !== undefined && before[1] === n - 1, joinsAfter = after !== undefined && after[0] === n + 1;
    if (joinsBefore && joinsAfter) {
      before[1] = after[1];
      this.list.splice(at, 1);
    } else if (joinsBefore) {
      before[1] = n;
    } else if (joinsAfter) {
      after[0] = n;
    } else {
      this.list.splice(at, 0, [n, n]);
    }
  }

  /** The numbers from 1 to last that are missing. */
  missing(last: number): [number, number][] {
    const holes: [number, number][] = [];
    let next = 1;
    for (const [from, to] of this.list) {
      if (from > next) {
        holes.push([next, from - 1]);
      }
      next = to + 1;
    }
    return next <= last ? [...holes, [next, last]] : holes;
  }
}

/**
 * The events of one attempt. Their sequence is their position: 1 to head without gaps. Columns hold what is needed of
 * every event that was seen; bodies that were not used for long are dropped, and fetched again.
 */
export class AttemptLog {
  head = 0;
  /** The outline holds the events from 1 to this number. */
  outlined = 0;
  /** Events that arrived although they were held. */
  doubles = 0;
  /** The events whose bodies arrived. */
  readonly seen = new Ranges();
  lastHeartbeat: Event | undefined;
  lastWork: Event | undefined;
  /** The numbers of the rows that show a failure. */
  readonly failures = new Set<number>();
  /** The numbers of messages, interrupts and waits for a message. */
  readonly exchanges = new Set<number>();
  private readonly types = new Names();
  private readonly tools = new Names();
  private kind = new Uint8Array(1024);
  private type = new Uint16Array(1024);
  private tool = new Uint16Array(1024);
  private parent = new Uint32Array(1024);
  private owner = new Uint32Array(1024);
  private time = new Float64Array(1024);
  private readonly pages = new Map<number, Page>();
  private bytes = 0;
  private readonly calls = new Map<string, Call>();
  private readonly received = new Map<number, Event>();

  constructor(readonly attempt: number) {}

  /** Learns that events up to this number exist. */
  grow(head: number): void {
    if (head > this.head) {
      this.head = head;
    }
  }

  add(event: Event, bytes: number): void {
    const n = event.sequence;
    this.grow(n);
    this.room(n);
    const page = this.page(n);
    if (this.seen.has(n) && page.bodies[(n - 1) % pageSize] !== undefined) {
      this.doubles++;
      return;
    }
    page.bodies[(n - 1) % pageSize] = event;
    page.bytes += bytes;
    this.bytes += bytes;
    this.seen.add(n);
    this.learn(n, { type: event.event_type, tool: text(event, "tool"), call: text(event, "tool_use_id"), time: Date.parse(event.created_at) });
    this.parent[n] = this.calls.get(text(event, "parent_tool_use_id"))?.start ?? 0;
    this.note(event);
    this.drop();
  }

  /** Takes what the outline says of an event. */
  learn(n: number, line: Line): void {
    this.grow(n);
    this.room(n);
    this.time[n] = line.time;
    this.type[n] = this.types.of(line.type);
    this.tool[n] = this.tools.of(line.tool);
    this.kind[n] = this.kindOf(n, line);
    if (ofExchanges.has(line.type)) {
      this.exchanges.add(n);
    }
  }

  private kindOf(n: number, { type, call: id }: Line): Kind {
    const known = kinds[type];
    if (known !== undefined) {
      return known;
    }
    if (id === "" || !starts.has(type) && !ends.has(type)) {
      return Kind.Row;
    }
    const call = this.calls.get(id) ?? { ends: [] };
    this.calls.set(id, call);
    if (starts.has(type)) {
      call.start = n;
      call.ends.forEach((end) => this.own(end, n));
      return Kind.Row;
    }
    if (!call.ends.includes(n)) {
      call.ends.push(n);
    }
    if (call.start === undefined) {
      return Kind.Row;
    }
    this.own(n, call.start);
    return Kind.CallEnd;
  }

  private own(end: number, start: number): void {
    this.kind[end] = Kind.CallEnd;
    this.owner[end] = start;
    if (this.failures.delete(end)) {
      this.failures.add(start);
    }
  }

  private note(event: Event): void {
    if (failed(event)) {
      this.failures.add(this.rowOf(event.sequence));
    }
    if (ofMessages.has(event.event_type)) {
      this.received.set(event.sequence, event);
    }
    if (kinds[event.event_type] === Kind.Heartbeat) {
      if (event.sequence > (this.lastHeartbeat?.sequence ?? 0)) {
        this.lastHeartbeat = event;
      }
    } else if (event.sequence > (this.lastWork?.sequence ?? 0)) {
      this.lastWork = event;
    }
  }

  /** What is known of an event without its body. */
  kindAt(n: number): Kind {
    return this.kind[n] ?? Kind.Unknown;
  }

  typeAt(n: number): string {
    return this.types.list[this.type[n] ?? 0]!;
  }

  toolAt(n: number): string {
    return this.tools.list[this.tool[n] ?? 0]!;
  }

  /** The tools that the agent has called. */
  toolNames(): string[] {
    return this.tools.list.slice(1).sort();
  }

  /** The number of the call of the subagent that an event is of; 0: of none. */
  parentAt(n: number): number {
    return this.parent[n] ?? 0;
  }

  /** The row that shows an event: that of the call which it ends, else its own. */
  rowOf(n: number): number {
    return this.kind[n] === Kind.CallEnd ? this.owner[n]! : n;
  }

  /** The numbers from 1 to the newest of which the page knows nothing. */
  missing(): [number, number][] {
    return this.seen.missing(this.head).flatMap(([from, to]): [number, number][] => (to <= this.outlined ? [] : [[Math.max(from, this.outlined + 1), to]]));
  }

  /** When the server stored an event; 0: not known. */
  timeAt(n: number): number {
    return this.time[n] ?? 0;
  }

  /** The body of an event, if it is held. */
  body(n: number): Event | undefined {
    const page = this.pages.get(pageOf(n));
    if (page !== undefined) { // used last
      this.pages.delete(pageOf(n));
      this.pages.set(pageOf(n), page);
    }
    return page?.bodies[(n - 1) % pageSize];
  }

  /** The messages that the agent received or did not use, oldest first. */
  messages(): Event[] {
    return [...this.received.values()].sort((a, b) => a.sequence - b.sequence);
  }

  /** The newest event that may be of a message and whose body did not arrive; 0: none. */
  lackingMessages(): number {
    for (const [from, to] of this.seen.missing(this.head).reverse()) {
      for (let n = to; n >= from; n--) {
        if (n > this.outlined || ofMessages.has(this.typeAt(n))) {
          return n;
        }
      }
    }
    return 0;
  }

  /** The number of what the agent said before it began to wait for a message the last time; 0: none, or not known. */
  question(): number {
    const known = Math.max(this.outlined, this.seen.list.at(-1)?.[1] ?? 0);
    return this.lastOf("agent.message", this.lastOf("agent.waiting", known));
  }

  /** The newest event of a type up to a number; 0: none, or events before that number are not known. */
  private lastOf(type: string, to: number): number {
    let n = to;
    while (this.kindAt(n) !== Kind.Unknown && this.typeAt(n) !== type) {
      n--;
    }
    return this.kindAt(n) === Kind.Unknown ? 0 : n;
  }

  /** The numbers of the ends of the call that an event starts. */
  endsOf(event: Event): number[] {
    const call = this.calls.get(text(event, "tool_use_id"));
    return call?.start === event.sequence ? call.ends : [];
  }

  /** Forgets that anything was seen: the server says that the cursor is unknown. */
  clear(): void {
    this.head = this.outlined = 0;
    this.seen.list.length = 0;
    this.failures.clear();
    this.exchanges.clear();
    this.pages.clear();
    this.calls.clear();
    this.received.clear();
    this.bytes = 0;
    this.kind.fill(Kind.Unknown);
  }

  private page(n: number): Page {
    const at = pageOf(n), known = this.pages.get(at) ?? { bodies: [], bytes: 0 };
    this.pages.delete(at);
    this.pages.set(at, known);
    return known;
  }

  /** Drops all bodies but those in the pages used last, of an attempt that is over. */
  shrink(): void {
    this.drop(fewestPages);
  }

  private drop(most = mostPages): void {
    for (const [at, page] of this.pages) {
      if (this.pages.size <= most && this.bytes <= mostBytes || this.pages.size <= fewestPages) {
        return;
      }
      this.pages.delete(at);
      this.bytes -= page.bytes;
    }
  }

  private room(n: number): void {
    if (n >= this.kind.length) {
      const size = Math.max(n + 1, this.kind.length * 2);
      const larger = <T extends { set: (from: T) => void }>(from: T, to: T): T => (to.set(from), to);
      this.kind = larger(this.kind, new Uint8Array(size));
      this.type = larger(this.type, new Uint16Array(size));
      this.tool = larger(this.tool, new Uint16Array(size));
      this.parent = larger(this.parent, new Uint32Array(size));
      this.owner = larger(this.owner, new Uint32Array(size));
      this.time = larger(this.time, new Float64Array(size));
    }
  }
}

export const pageOf = (n: number): number => Math.floor((n - 1) / pageSize);

/** A field of an event that is a text. */
function text(event: Event, name: string): string {
  const value = (event.event_data as Record<string, unknown>)[name];
  return typeof value === "string" ? value : "";
}

/** Whether an event reports that a tool or the agent failed. */
function failed(event: Event): boolean {
  const data = event.event_data as Record<string, unknown>, response = data["tool_response"] as { is_error?: unknown } | null | undefined;
  return event.event_type === "agent.error" || event.event_type === "agent.failed" || event.event_type === "iteration.failed" ||
    results.includes(event.event_type) && (data["is_error"] === true || typeof response === "object" && response?.is_error === true);
}
