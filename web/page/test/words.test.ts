import { expect, test } from "vitest";

import { everyOf } from "../src/task/every";
import { deliveryTo } from "../src/review/delivery";
import { many, ordinal } from "../src/lib/format";
import type { Message, Task } from "../src/lib/api";

test("an acknowledged message is asked for until it is answered, and then no more", () => {
  const message = (state: string, settled_at: string | null) => ({ state, settled_at }) as Message, now = new Date().toISOString(), long = "2020-01-01T00:00:00Z";
  expect([undefined, message("delivered", null), message("acknowledged", now), message("acknowledged", long)].map(everyOf)).toEqual([1500, 1500, 1500, 15_000]);
  expect([message("answered", now), message("expired", long), message("rejected", now)].map(everyOf)).toEqual([false, false, false]);
});

test("the dialog of comments names the one case that applies", () => {
  const of = (change: object) => deliveryTo({ status: "running", group: "running", completed_at: null, attempts: [{ ended_at: null, kind: "first" }], ...change } as unknown as Task);
  expect(of({})).toContain("The agent runs, and gets all comments now, as one message.");
  expect(of({ group: "needs_you" })).toContain("The agent waits, and gets all comments now, as one message.");
  expect(of({ attempts: [{ ended_at: null, kind: "validation" }] })).toContain("If the work waits for a review");
  expect(of({ status: "pending", attempts: [] })).toContain("If the work waits for a review");
  expect(of({ status: "completed", completed_at: "x" })).toContain("a new task continues its branch");
  expect(of({ status: "cancelled", completed_at: "x" })).toBe("The next attempt starts with the comments.");
});

test("numbers with their noun, and places", () => {
  expect([many(1, "file"), many(0, "file"), many(1200, "file")]).toEqual(["1 file", "0 files", "1,200 files"]);
  expect([1, 2, 3, 4, 11, 12, 13, 21, 112].map(ordinal)).toEqual(["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th"]);
});
