import { afterAll, expect, test, vi } from "vitest";

vi.hoisted(() => {
  vi.stubGlobal("location", { origin: "http://omoi.test" });
  vi.stubGlobal("matchMedia", () => ({ matches: false }));
});

import type { Task } from "../src/lib/api";
import { linesOf, together } from "../src/home/home";

afterAll(() => vi.unstubAllGlobals());

test("the head of a group counts what the list shows of it", () => {
  const counts = { needs_you: 0, running: 2, checking: 0, waiting: 0, done: 4, failed: 1, cancelled: 2, total: 9 };
  const of = (group: string) => ({ id: group, group }) as unknown as Task;
  const heads = (...of: Parameters<typeof linesOf>) => linesOf(...of).filter((l) => l.task === undefined).map((l) => `${l.word} ${l.count}`);
  expect(heads([of("running"), of("done"), of("failed")], counts)).toEqual(["Running 2", "Ended 7"]);
  expect(heads([of("failed")], counts, "failed")).toEqual(["Ended 1"]);
});

test("a task that moved between two lists is shown once, as the newer list has it", () => {
  const of = (id: string, group: string, updated_at: string) => ({ id, group, updated_at }) as Task;
  const before = of("a", "needs_you", "2026-01-01T00:00:01Z"), after = of("a", "done", "2026-01-01T00:00:01.5Z"), other = of("b", "done", "2026-01-01T00:00:00Z");
  expect(together([before], [after, other])).toEqual([after, other]);
  expect(together([after], [before, other])).toEqual([after, other]);
  expect(together([before], [other])).toEqual([before, other]);
});
