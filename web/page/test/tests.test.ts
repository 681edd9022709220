import { expect, test, vi } from "vitest";

import type { Task } from "../src/lib/api";

test("without a result the page promises none", async () => {
  vi.stubGlobal("location", { origin: "http://omoi.test" });
  const { noResult } = await import("../src/review/tests");
  const of = (more: object): string => noResult({ continuous: false, execution_config: {}, validation_rounds: 0, completed_at: null, ...more } as Task);
  expect(of({})).toContain("runs no test for this task");
  expect(of({ completed_at: "2026-01-01T00:00:00Z" })).toContain("ran no test for this task");
  for (const checked of [{ continuous: true }, { execution_config: { test_command: "make test" } }, { validation_rounds: 1 }]) {
    expect(of(checked)).toBe("omoi has no test result yet.");
    expect(of({ ...checked, completed_at: "2026-01-01T00:00:00Z" })).toBe("omoi has no test result of this task.");
  }
});
