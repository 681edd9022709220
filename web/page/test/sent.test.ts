import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { Command } from "../src/lib/api";
import { withStorage } from "./kept";

const reloaded = async () => {
  vi.resetModules();
  return { ...await import("../src/task/draft"), ...await import("../src/task/asked") };
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

test("a receipt takes the answer without a page that shows it, and after a reload none is awaited", async () => {
  const page = await reloaded(), command = { state: "carried_out" } as Command;
  page.addAsked("t", { key: "a", word: "Cancel", at: 1 });
  page.addAsked("t", { key: "b", word: "Retry", at: 2 });
  page.addAsked("t", { key: "c", word: "Fork", at: 3, id: "7" });
  page.changeAsked("t", (a) => a.key === "a", { id: "6", command });
  expect((await reloaded()).askedOf("t")).toEqual([
    { key: "a", word: "Cancel", at: 1, id: "6", command }, { key: "b", word: "Retry", at: 2, unanswered: true }, { key: "c", word: "Fork", at: 3, id: "7" },
  ]);
});
