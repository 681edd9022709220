import { expect, test, vi } from "vitest";

vi.hoisted(() => vi.stubGlobal("location", { origin: "http://omoi.test" }));

import { pairsOf } from "../src/compare/files";
import { lengthOf, type Attempt } from "../src/compare/figures";
import { compareSearch, sideOf } from "../src/compare/search";
import type { Event } from "../src/lib/api";
import { heardTime } from "../src/lib/clock";
import { checkpointAt, marksOf, spentAt, step } from "../src/replay/moment";
import type { FileChange } from "../src/review/types";
import type { TaskEvents } from "../src/stream/events";
import { AttemptLog } from "../src/stream/store";

/** A log of events, each with the time since the one before in milliseconds. */
function logOf(...events: [string, number, object?][]): AttemptLog {
  const log = new AttemptLog(1);
  let at = 1e12;
  events.forEach(([type, after, data = {}], n) => {
    at += after;
    log.add({ id: `s:${n + 1}`, sandbox_id: "s", sequence: n + 1, attempt: 1, event_type: type, event_data: data, created_at: new Date(at).toISOString() } as unknown as Event, 100);
  });
  return log;
}

const asked: number[] = [];
const events = { need: (_: AttemptLog, n: number) => void asked.push(n) } as unknown as TaskEvents;

test("a player keeps the pace, cuts silences, and skips nothing", () => {
  const log = logOf(["a", 0], ["b", 500], ["c", 60_000], ["d", 1], ["e", 1], ["f", 100]);
  expect(step(log, 1, 1)).toEqual({ to: 2, wait: 500 });
  expect(step(log, 2, 1)).toEqual({ to: 3, wait: 2000 });
  expect(step(log, 2, 16)).toEqual({ to: 3, wait: 125 });
  expect(step(log, 3, 4)).toEqual({ to: 6, wait: 25.5 });
  expect(step(log, 3, 1)).toEqual({ to: 5, wait: 2 });
  expect(step(log, 5, 4)).toEqual({ to: 6, wait: 25 });
  expect(step(log, 3, 0)).toEqual({ to: 4, wait: 33 });
  const seen: number[] = [];
  for (let n = 1; n < log.head; n = step(log, n, 4).to) {
    seen.push(n);
  }
  expect(seen).toEqual([1, 2, 3]);
});

test("marks: messages, errors, commits, iterations and checkpoints", () => {
  const log = logOf(["agent.message_injected", 0], ["agent.tool_use", 1, { tool: "Bash", tool_use_id: "a" }], ["agent.tool_result", 1, { tool_use_id: "a", is_error: true }],
    ["agent.committed", 1], ["iteration.started", 1], ["agent.checkpoint", 1], ["agent.message", 1], ["agent.error", 1]);
  expect(marksOf(log).map(({ n, mark }) => `${n} ${mark}`)).toEqual(["1 message", "3 error", "4 commit", "5 iteration", "6 checkpoint", "8 error"]);
});

test("the cost and the checkpoint of a moment are the newest ones before it", () => {
  const log = logOf(["agent.started", 0], ["agent.assistant_message", 1, { total_cost_usd: 0.25, total_usage: { input_tokens: 10, output_tokens: 5 } }], ["agent.checkpoint", 1, { checkpoint: 1 }],
    ["agent.assistant_message", 1], ["agent.completed", 1, { cost_usd: 0.5, input_tokens: 30, output_tokens: 6, cost_unknown: true }]);
  expect([1, 2, 4, 5].map((n) => spentAt(events, log, n))).toEqual([null, { usd: 0.25, tokens: 15, unknown: false }, { usd: 0.25, tokens: 15, unknown: false }, { usd: 0.5, tokens: 36, unknown: true }]);
  expect([2, 3, 5].map((n) => checkpointAt(events, log, n)?.sequence)).toEqual([undefined, 3, 3]);
  expect(checkpointAt(events, log, 2)).toBeNull();
  log.grow(8);
  expect(checkpointAt(events, log, 8)).toBeUndefined();
  expect(asked).toEqual([8]);
});

test("files that only one side changed, that differ, and that are the same", () => {
  const file = (path: string, object: string): FileChange => ({ path, new_object: object, new_mode: "100644" }) as FileChange;
  const pairs = pairsOf([file("a", "1"), file("s", "2"), file("d", "3")], [file("s", "2"), file("d", "4"), file("b", "5")]);
  expect(pairs.map((p) => `${p.path} ${p.relation}`)).toEqual(["d different", "a only a", "b only b", "s same"]);
});

test("the address of a comparison", () => {
  expect(sideOf("APP-12:3")).toEqual({ id: "APP-12", attempt: 3 });
  expect(sideOf("APP-12")).toEqual({ id: "APP-12" });
  expect(["", "a/b", "a:b", "a:1:2", "<b>"].map(sideOf)).toEqual([undefined, undefined, undefined, undefined, undefined]);
  expect(compareSearch({ a: "APP-1:1", b: "../x", all: "yes" })).toEqual({ a: "APP-1:1" });
});

test("a running attempt is measured by the clock of the server", () => {
  heardTime(new Response(null, { headers: { Date: "Wed, 01 Jan 2020 00:01:00 GMT" } }));
  const length = lengthOf({ started_at: "2020-01-01T00:00:00Z", ended_at: null } as Attempt);
  expect(length).toBeGreaterThanOrEqual(60_000);
  expect(length).toBeLessThan(70_000);
});
