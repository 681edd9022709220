import { expect, test } from "vitest";

import { addDraft, draftsOf, keyOf, setDraft } from "../src/review/drafts";

test("comments have one key until they change, also in a browser that keeps nothing", () => {
  const key = keyOf("t");
  expect(key).toMatch(/^[0-9a-f]{32}$/);
  expect(keyOf("t")).toBe(key);
  addDraft("t", { from: "base", to: "latest", path: "a.md", side: "new", line: 1, quote: "" });
  const id = draftsOf("t")[0]!.id;
  expect(keyOf("t")).toBe(key); // nothing is written yet
  setDraft("t", id, { text: "Why?" });
  const other = keyOf("t");
  expect(other).not.toBe(key);
  setDraft("t", id, { open: false });
  expect(keyOf("t")).toBe(other);
});
