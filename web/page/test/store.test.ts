import { expect, test, vi } from "vitest";

vi.hoisted(() => vi.stubGlobal("location", { origin: "http://omoi.test" }));

import type { Event, Task } from "../src/lib/api";
import { TaskEvents } from "../src/stream/events";
import { takeOutline } from "../src/stream/outline";
import { AttemptLog, Kind, pageSize, Ranges } from "../src/stream/store";
import { random } from "./random";

function event(sequence: number, type = "agent.message", data: object = {}): Event {
  return {
    id: `s:${sequence}`, sandbox_id: "s", attempt: 1, sequence, event_type: type, event_data: data, source: "agent",
    created_at: new Date(1e12 + sequence * 1000).toISOString(), late: false,
  } as unknown as Event;
}

test("events in any order, doubled and with gaps, are held once each", () => {
  const next = random(7), log = new AttemptLog(1), given = new Set<number>();
  let doubles = 0;
  for (let step = 0; step < 3000; step++) {
    const n = 1 + Math.floor(next() * 2000);
    doubles += given.has(n) ? 1 : 0;
    given.add(n);
    log.add(event(n), 100);
  }
  expect(log.doubles).toBe(doubles);
  expect(log.head).toBe(Math.max(...given));
  const missing = new Set(log.seen.missing(log.head).flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, i) => from + i)));
  for (let n = 1; n <= log.head; n++) {
    expect(missing.has(n)).toBe(!given.has(n));
    expect(log.body(n)?.sequence).toBe(given.has(n) ? n : undefined);
  }
});

test("ranges join", () => {
  const ranges = new Ranges();
  [5, 3, 4, 1, 2, 9, 4].forEach((n) => ranges.add(n));
  expect(ranges.list).toEqual([[1, 5], [9, 9]]);
  expect(ranges.missing(12)).toEqual([[6, 8], [10, 12]]);
  ranges.add(6); ranges.add(8); ranges.add(7);
  expect(ranges.missing(9)).toEqual([]);
});

test("bodies that were not used for long are dropped; what was seen stays known", () => {
  const log = new AttemptLog(1);
  for (let n = 1; n <= 100 * pageSize; n++) {
    log.add(event(n), 200);
  }
  expect(log.body(1)).toBeUndefined();
  expect(log.body(100 * pageSize)).toBeDefined();
  expect(log.seen.missing(log.head)).toEqual([]);
  log.add(event(1), 200); // fetched again
  expect(log.doubles).toBe(0);
  expect(log.body(1)).toBeDefined();
});

test("messages stay, also when their bodies are dropped", () => {
  const log = new AttemptLog(1);
  log.add(event(2, "agent.message_dropped"), 200);
  log.add(event(1, "agent.message_injected"), 200);
  for (let n = 3; n <= 100 * pageSize; n++) {
    log.add(event(n), 200);
  }
  log.add(event(1, "agent.message_injected"), 200); // fetched again
  expect(log.messages().map((e) => e.sequence)).toEqual([1, 2]);
  log.clear();
  expect(log.messages()).toEqual([]);
});

test("the end of a call has no row of its own, in whichever order the two arrive", () => {
  for (const order of [[1, 2, 3], [3, 2, 1], [2, 1, 3]]) {
    const log = new AttemptLog(1);
    const all = [event(1, "agent.tool_use", { tool_use_id: "a" }), event(2, "agent.tool_completed", { tool_use_id: "a" }), event(3, "agent.tool_result", { tool_use_id: "a" })];
    order.forEach((n) => log.add(all[n - 1]!, 10));
    expect([1, 2, 3].map((n) => log.kindAt(n))).toEqual([Kind.Row, Kind.CallEnd, Kind.CallEnd]);
    expect([...log.endsOf(all[0]!)].sort()).toEqual([2, 3]);
    expect([1, 2, 3].map((n) => log.rowOf(n))).toEqual([1, 1, 1]);
  }
});

test("the outline says what the bodies do, and proves what is complete", () => {
  const bodies = new AttemptLog(1), lines = new AttemptLog(1);
  const all = [event(1, "agent.tool_use", { tool: "Bash", tool_use_id: "a" }), event(2, "agent.heartbeat"), event(3, "agent.tool_completed", { tool_use_id: "a" }), event(4)];
  all.forEach((e) => bodies.add(e, 10));
  takeOutline(lines, {
    sandbox_id: "s", after: 0, last_sequence: 4, next_after: null, started_at: all[0]!.created_at,
    event_types: ["agent.tool_use", "agent.heartbeat", "agent.tool_completed", "agent.message"], tools: ["Bash"], call_ids: ["a"],
    type: [0, 1, 2, 3], tool: [0, -1, -1, -1], call: [0, -1, 0, -1], at_ms: [0, 1000, 1000, 1000], bytes: [1, 1, 1, 1], failed: [3],
  });
  expect([...lines.failures], "the call shows that its end failed").toEqual([1]);
  const facts = (log: AttemptLog) => [1, 2, 3, 4].map((n) => [log.kindAt(n), log.typeAt(n), log.toolAt(n), log.timeAt(n), log.rowOf(n)]);
  expect(facts(lines)).toEqual(facts(bodies));
  expect([lines.missing(), lines.body(1)]).toEqual([[], undefined]);
  lines.grow(6);
  expect(lines.missing()).toEqual([[5, 6]]);
});

test("an end without its start, and one without an ID, are rows", () => {
  const log = new AttemptLog(1);
  log.add(event(1, "agent.tool_completed", { tool_use_id: "gone" }), 10);
  log.add(event(2, "agent.tool_completed"), 10);
  log.add(event(3, "agent.heartbeat"), 10);
  expect([1, 2, 3, 4].map((n) => log.kindAt(n))).toEqual([Kind.Row, Kind.Row, Kind.Heartbeat, Kind.Unknown]);
});

test("the next attempt frees the bodies of the one before, but those used last", async () => {
  const target = { addEventListener: () => undefined, removeEventListener: () => undefined, visibilityState: "visible" };
  vi.stubGlobal("window", target);
  vi.stubGlobal("document", target);
  let send = (_: string): void => undefined;
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(new ReadableStream({ start: (c) => { send = (text) => c.enqueue(new TextEncoder().encode(text)); } }))));
  const events = new TaskEvents({ id: "t", attempts: [] } as unknown as Task);
  const frame = (n: number, attempt: number): string => `id: ${attempt}:${n}\nevent: event\ndata: ${JSON.stringify({ ...event(n), attempt })}\n\n`;
  const numbers = Array.from({ length: 4 * pageSize }, (_, i) => i + 1), held = (): number => numbers.filter((n) => events.log(1).body(n) !== undefined).length;
  events.start();
  await vi.waitFor(() => expect(events.connection).toBe("live"));
  send(numbers.map((n) => frame(n, 1)).join(""));
  await vi.waitFor(() => expect(events.log(1).head).toBe(numbers.length));
  expect(held()).toBe(numbers.length);
  send(frame(1, 2));
  await vi.waitFor(() => expect(events.log(2).head).toBe(1));
  expect(held()).toBe(2 * pageSize);
  expect(events.log(1).missing()).toEqual([]);
  events.stop();
  vi.unstubAllGlobals();
});
