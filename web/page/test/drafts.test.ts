import { expect, test } from "vitest";

import { addDraft, keyOf } from "../src/review/drafts";

test("comments have one key until they change, also in a browser that keeps nothing", () => {
  const key = keyOf("t");
  expect(key).toMatch(/^[0-9a-f]{32}$/);
  expect(keyOf("t")).toBe(key);
  addDraft("t", { from: "base", to: "latest", path: "a.md", side: "new", line: 1, quote: "" });
  expect(keyOf("t")).not.toBe(key);
});
