import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { withStorage } from "./kept";

const reloaded = async () => {
  vi.resetModules();
  return import("../src/task/draft");
};

beforeEach(withStorage);
afterEach(() => vi.unstubAllGlobals());

test("a draft and its key outlive a reload; another text has another key", async () => {
  const before = await reloaded();
  before.write("t", "Hello");
  const { text, key } = before.draftOf("t"), after = await reloaded();
  expect(after.draftOf("t")).toEqual({ text, key });
  after.write("t", "Hello!");
  expect(after.draftOf("t").key).not.toBe(key);
});

test("a text that is written while the one before is sent stays", async () => {
  const page = await reloaded();
  page.write("t", "one");
  const sent = page.draftOf("t");
  page.write("t", "one and two");
  page.drop("t", sent);
  expect(page.draftOf("t").text).toBe("one and two");
  page.drop("t", page.draftOf("t"));
  expect(page.draftOf("t").text).toBe("");
  expect(window.sessionStorage.getItem("omoi.draft.t")).toBeNull();
});
