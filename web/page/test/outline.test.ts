import { afterEach, beforeEach, expect, test, vi } from "vitest";

vi.hoisted(() => vi.stubGlobal("location", { origin: "http://omoi.test" }));

import type { Task } from "../src/lib/api";
import { TaskEvents } from "../src/stream/events";

let status = 503, code = "database_unavailable", asked = 0;

beforeEach(() => {
  vi.useFakeTimers();
  asked = 0;
  vi.stubGlobal("fetch", () => {
    asked++;
    return Promise.resolve(new Response(JSON.stringify({ status, code, title: "No", detail: "No outline." }), { status, headers: { "Content-Type": "application/problem+json" } }));
  });
});
afterEach(() => vi.useRealTimers());

/** Asks for an outline whenever a reader is told of a change, as useOutline does, for a minute. */
async function minute(): Promise<void> {
  const events = new TaskEvents({ id: "t", completed_at: "2026-01-01T00:00:00Z", attempts: [{ number: 1, sandbox_id: "s", events: 9 }] } as unknown as Task);
  events.connection = "ended";
  events.subscribe(() => void events.outline(events.log(1)));
  void events.outline(events.log(1));
  await vi.advanceTimersByTimeAsync(60_000);
}

test("an outline that the server cannot give now is asked for again", async () => {
  [status, code] = [503, "database_unavailable"];
  await minute();
  expect(asked).toBeGreaterThan(5);
  expect(asked).toBeLessThan(15);
});

test("an outline of removed events is asked for once", async () => {
  [status, code] = [410, "data_removed"];
  await minute();
  expect(asked).toBe(1);
});
