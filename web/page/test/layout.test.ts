import { expect, test } from "vitest";

import type { Event } from "../src/lib/api";
import { AttemptLog } from "../src/stream/store";
import { placeOf } from "../src/timeline/bar";
import { classOf, layout, type View } from "../src/timeline/layout";

const start = Date.parse("2026-01-01T10:00:00Z");

/** A log with events given as type, fields and seconds since the event before. */
function logOf(...events: [type: string, data?: object, seconds?: number][]): AttemptLog {
  const log = new AttemptLog(1);
  let at = start;
  events.forEach(([type, data = {}, seconds = 1], n) => {
    at += seconds * 1000;
    log.add({ id: `s:${n + 1}`, sandbox_id: "s", attempt: 1, sequence: n + 1, event_type: type, event_data: data, created_at: new Date(at).toISOString() } as unknown as Event, 100);
  });
  return log;
}

const call = (tool: string, id: string, more: object = {}): [string, object] => ["agent.tool_use", { tool, tool_use_id: id, ...more }];
const end = (id: string, more: object = {}): [string, object] => ["agent.tool_completed", { tool_use_id: id, ...more }];

function shown(log: AttemptLog, view: Partial<View> = {}): number[] {
  const all = layout(log, { every: false, open: new Set(), keep: 0, until: log.head, ...view }).shown;
  return [...all].flatMap((yes, n) => (yes === 1 ? [n + 1] : []));
}

test("a run of five reads is one row, which opens; four stay", () => {
  const reads = (count: number): [string, object][] => Array.from({ length: count }, (_, n) => [call(n % 2 ? "Grep" : "Read", `r${n}`), end(`r${n}`)]).flat();
  const log = logOf(["agent.message"], ...reads(6), ["agent.message"], ...reads(4));
  expect(shown(log)).toEqual([1, 2, 14, 15, 17, 19, 21]);
  const { runs } = layout(log, { every: false, open: new Set(), keep: 0, until: log.head });
  expect([...runs]).toEqual([[2, 6]]);
  expect(shown(log, { open: new Set([-2]) }).slice(0, 8)).toEqual([1, 2, 4, 6, 8, 10, 12, 14]);
});

test("a failed read, an edit, and the row that the reader goes to end a run", () => {
  const reads = Array.from({ length: 8 }, (_, n): [string, object][] => [call("Read", `r${n}`), end(`r${n}`, n === 4 ? { is_error: true } : {})]).flat();
  const log = logOf(...reads);
  expect([...log.failures]).toEqual([9]);
  expect(classOf(log, 9)).toBe("error");
  expect(shown(log)).toEqual([1, 3, 5, 7, 9, 11, 13, 15]);
  const whole = logOf(...reads.map(([type]): [string, object] => [type, {}]), ...Array.from({ length: 6 }, (_, n): [string, object] => call("Read", `x${n}`)));
  expect(shown(whole, { keep: 19 })).toContain(19);
});

test("the events of a subagent are below its call, folded", () => {
  const log = logOf(["agent.subagent_invoked", { tool_use_id: "a" }], ["agent.message", { parent_tool_use_id: "a" }],
    ["agent.subagent_invoked", { tool_use_id: "b", parent_tool_use_id: "a" }], ["agent.message", { parent_tool_use_id: "b" }], ["agent.message"]);
  expect(shown(log)).toEqual([1, 5]);
  expect(layout(log, { every: false, open: new Set(), keep: 0, until: 5 }).inside).toEqual(new Map([[1, 3], [3, 1]]));
  expect(shown(log, { open: new Set([1]) })).toEqual([1, 2, 3, 5]);
  expect(shown(log, { open: new Set([1, 3]) })).toEqual([1, 2, 3, 4, 5]);
  expect(shown(log, { open: new Set([3]) })).toEqual([1, 5]);
});

test("heartbeats are no rows and do not end a silence; a call that took long is none", () => {
  const log = logOf(["agent.message"], ["agent.heartbeat", {}, 30], ["agent.heartbeat", {}, 30], ["agent.message", {}, 30], [...call("Bash", "a"), 1], [...end("a"), 300], ["agent.message", {}, 1]);
  const { silences } = layout(log, { every: false, open: new Set(), keep: 0, until: log.head });
  expect([...silences]).toEqual([[4, 90_000]]);
  expect(shown(log)).toEqual([1, 4, 5, 7]);
  expect(shown(log, { every: true })).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test("a reader chooses by kind and tool, and up to an event", () => {
  const log = logOf(["agent.message"], call("Bash", "a"), end("a"), call("Edit", "b"), ["agent.thinking"], ["agent.message_injected"], ["agent.error"], ["agent.completed"]);
  const only = (name: View["only"]) => shown(log, { only: name });
  expect([only("message"), only("tool"), only("edit"), only("thinking"), only("person"), only("error"), only("state")]).toEqual([[1], [2], [4], [5], [6], [7], [8]]);
  expect(shown(log, { tool: "Bash" })).toEqual([2]);
  expect(shown(log, { until: 4 })).toEqual([1, 2, 4]);
  expect(log.toolNames()).toEqual(["Bash", "Edit"]);
  log.grow(20);
  expect(shown(log, { only: "message" }), "nothing is known of the others").toEqual([1]);
  expect(shown(log).length).toBe(7 + 12);
});

test("an event is found by number or time of day", () => {
  const log = logOf(...Array.from({ length: 100 }, (): [string, object, number] => ["agent.message", {}, 60]));
  const clock = (n: number): string => new Date(log.timeAt(n)).toTimeString().slice(0, 5);
  expect(["1", "#50", "1,00", "100"].map((t) => placeOf(t, log))).toEqual([1, 50, 100, 100]);
  expect(["0", "101", "1.5", "x", "25:00:61:1"].map((t) => placeOf(t, log))).toEqual([undefined, undefined, undefined, undefined, undefined]);
  expect(placeOf(clock(42), log)).toBe(42);
});
